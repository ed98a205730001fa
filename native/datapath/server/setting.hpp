// Completes the setting that a workload is opened with, and tells which combinations of workload, parameters, engines and port
// are possible.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "datapath/job.hpp"
#include "datapath/workloads/workload.hpp"
#include "operators/engines.hpp"

namespace dpubench::datapath {

/// Return the workload of this name. @throws Error that names the existing workloads when there is none
const Workload& require_workload(std::string_view name);

/// Return the setting that a job's workload is opened with: parameters, engines and stages are complete, ports are not set yet.
/// @throws Error on a parameter, stage or engine that does not exist, and on an engine that cannot run here (with the reason)
/// or not on this kind of port
Setting complete_setting(const Workload& workload, const ServerJob& job, const EngineCatalog& engines);

/// Return whether a combination is possible, without opening anything: {"invalid": why its parameters do not exist, "engines":
/// {STAGE: why its engine does not do this}}. A text is empty where nothing is wrong. An engine that cannot run here is not
/// judged: the catalog has the reason.
/// @param combination  JSON text of {"workload", "params", "engines", "port", "cpus", "max_frame"} @throws Error when it is not
/// such a text, or there is no such workload
nlohmann::json check_combination(const EngineCatalog& engines, std::string_view combination);

}  // namespace dpubench::datapath
