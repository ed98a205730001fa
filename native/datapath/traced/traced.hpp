// Runs a workload on one thread and without time, so that its instructions can be traced. Frames of a traffic pass its stages
// in bursts, and every reply is judged.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "datapath/job.hpp"
#include "operators/engines.hpp"

namespace dpubench::datapath {

inline constexpr std::string_view kWorkloadJobSchema = "dpubench.workload-job/1";

struct WorkloadJob {
  TrafficJob traffic;        ///< includes the workload, its engines and the inputs
  std::uint64_t frames = 0;  ///< least number of frames; rounded up to whole bursts
};

/// Parse a job. @throws Error that names each faulty field, with what is wrong and what is right
WorkloadJob parse_workload_job(std::string_view text);

/// Prepare and verify the workload as a server does, then run the frames. Start the EAL first. The trace records the work of a
/// core's loop on a burst, from taking it off its port to giving the replies to it. Each burst is a region and a message. Time
/// stands still within a burst and moves on by 10 us between two.
/// @returns the event `traced` @throws Error when an engine cannot run, or a reply is wrong or missing
nlohmann::json run_traced(const WorkloadJob& job, const EngineCatalog& engines);

}  // namespace dpubench::datapath
