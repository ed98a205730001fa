// The job of dpubench-cores: processors and the traces that they execute. Jobs are untrusted. docs/cores.md has the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cores/model/description.hpp"
#include "cores/model/dma.hpp"
#include "cores/model/feed.hpp"

namespace dpubench::cores {

inline constexpr std::string_view kJobSchema = "dpubench.cores-job/1";

struct JobContext {
  std::filesystem::path trace;
  std::uint64_t skip_messages = 0;
  std::uint64_t code_space = 0;
  std::uint64_t data_space = 0;
};

struct JobConfiguration {
  std::string id;
  Description processor;
  std::vector<JobContext> contexts;
  Extent extent;
  std::vector<FrameBuffers> buffers;
};

struct CoresJob {
  double time_limit_s = 3600;
  std::vector<JobConfiguration> configurations;
};

/// Parse a job. @throws Error that names the field, the fault and the right form
CoresJob parse_cores_job(std::string_view text);

/// Check each configuration of `text`, an array of objects with `processor` and optionally `extent`, with the code that reads
/// jobs. @returns a `checked` event with the faults @throws Error when `text` is no such array
nlohmann::json check_configurations(std::string_view text);

}  // namespace dpubench::cores
