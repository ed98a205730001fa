// A workload on one thread and without time, so that what it executes can be traced: frames of a traffic pass its stages in
// bursts, and every reply is judged.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "datapath/job.hpp"
#include "operators/engines.hpp"

namespace dpubench::datapath {

inline constexpr std::string_view kWorkloadJobSchema = "dpubench.workload-job/1";

struct WorkloadJob {
  TrafficJob traffic;        ///< with the workload, its engines and the inputs
  std::uint64_t frames = 0;  ///< at least; rounded up to whole bursts
};

/// @throws Error naming each field, what is wrong and what is right
WorkloadJob parse_workload_job(std::string_view text);

/// Prepares and verifies the workload as a server does, then runs the frames. The EAL was started.
/// Recorded is what a core's loop does with a burst, from taking it off its port to giving the replies to it: a region and a
/// message each. Time stands still within a burst and moves on by 10 us between two.
/// @returns the event `traced` @throws Error when an engine cannot run, or a reply is wrong or missing
nlohmann::json run_traced(const WorkloadJob& job, const EngineCatalog& engines);

}  // namespace dpubench::datapath
