// Parses any text as a job or a command of dpubench-headroom or -link. The result is within its documented
// ranges, or an Error.
//
// The first byte selects the program.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.hpp"
#include "check.hpp"
#include "headroom/job.hpp"
#include "link/job.hpp"

namespace {

void check(const dpubench::headroom::TrialSpec& trial) {
  FUZZ_CHECK(trial.threads >= 1 && trial.burst >= 1 && trial.reuse >= 1 && trial.size >= 1);
  FUZZ_CHECK(trial.duration_s > 0 && trial.delay_ns >= 0);
  FUZZ_CHECK(!dpubench::headroom::word_of(trial.delay).empty());
}

void headroom_job(std::string_view text) {
  const dpubench::headroom::HeadroomJob job = dpubench::headroom::parse_job(text);
  FUZZ_CHECK(job.time_limit_s > 0 && job.threads >= 1 && job.memory.mb >= 1 && job.max_packet >= 1);
  FUZZ_CHECK(std::all_of(job.cpus.begin(), job.cpus.end(), [](int cpu) { return cpu >= 0; }));
}

void headroom_command(std::string_view text) {
  const dpubench::headroom::Command command = dpubench::headroom::parse_command(text);
  if (const auto* const trial = std::get_if<dpubench::headroom::TrialSpec>(&command)) check(*trial);
}

void link_job(std::string_view text) {
  const dpubench::link::LinkJob job = dpubench::link::parse_link_job(text);
  FUZZ_CHECK(job.duration_s > 0 && job.time_limit_s > 0 && (!job.cpu || *job.cpu >= 0));
  const bool is_latency = job.test == dpubench::link::Test::kLatency;
  FUZZ_CHECK(is_latency ? job.message_bytes >= 1 : job.file_bytes >= 1);
  // The other end compares this line with its own: it is one line, whatever the job holds.
  FUZZ_CHECK(dpubench::link::agreement(job).find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr void (*kParsers[])(std::string_view) = {headroom_job, headroom_command, link_job};
  try {
    kParsers[data[0] % std::size(kParsers)](text);
  } catch (const dpubench::Error& error) {
    FUZZ_CHECK(error.what()[0] != 0);
  }
  return 0;
}
