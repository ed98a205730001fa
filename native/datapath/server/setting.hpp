// What a workload is opened with, and which combinations of workload, parameters, engines and port are possible.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "datapath/job.hpp"
#include "datapath/workloads/workload.hpp"
#include "operators/engines.hpp"

namespace dpubench::datapath {

/// @throws Error naming those that there are
const Workload& require_workload(std::string_view name);

/// What a job's workload is opened with: parameters, engines and stages complete. Ports are not in it yet.
/// @throws Error on a parameter, stage or engine that does not exist, cannot run here (and why), or not on this kind of port
Setting complete_setting(const Workload& workload, const ServerJob& job, const EngineCatalog& engines);

/// Whether a combination is possible, without opening anything: {"invalid": why its parameters do not exist, "engines": {STAGE:
/// why its engine does not do this}}, empty where it is. An engine that cannot run here is not judged: the catalog has the
/// reason.
/// @param combination  JSON text of {"workload", "params", "engines", "port", "cpus", "max_frame"} @throws Error when it is none
nlohmann::json check_combination(const EngineCatalog& engines, std::string_view combination);

}  // namespace dpubench::datapath
