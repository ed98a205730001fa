// The job of dpubench-cores: which processors execute which traces. Untrusted input; docs/cores.md has the format.
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

/// @throws Error naming the field, what is wrong and what is right
CoresJob parse_cores_job(std::string_view text);

/// What is wrong with each configuration of `text`, an array of objects with `processor` and (or not) `extent`, by the code that
/// reads them in a job: a `checked` event. @throws Error when it is no such array
nlohmann::json check_configurations(std::string_view text);

}  // namespace dpubench::cores
