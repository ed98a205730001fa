// Parses any text. The result is a job (or a command) within its documented ranges, or an Error.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "check.hpp"
#include "protocol/job.hpp"

using namespace dpubench::protocol;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    const Job job = parse_job(input);
    FUZZ_CHECK(!job.groups.empty());
    FUZZ_CHECK(job.cycles >= 1 && job.time_limit_s > 0 && job.window.min_ms > 0 && job.window.min_bursts >= 1);
    std::set<std::string> ids;
    for (const JobGroup& group : job.groups) {
      FUZZ_CHECK(!group.id.empty() && !group.op.empty() && !group.points.empty());
      FUZZ_CHECK(group.threads >= 1 && group.threads <= 1024 && group.burst >= 1 && group.burst <= 256);
      for (const JobPoint& point : group.points) FUZZ_CHECK(!point.engine.empty() && ids.insert(point.id).second);
    }
    for (const int cpu : job.cpus) FUZZ_CHECK(cpu >= 0 && cpu < 1024);
  } catch (const dpubench::Error&) {
    // refused with a message, as it should be
  }
  try {
    (void)parse_command(input);
  } catch (const dpubench::Error&) {
    // also refused with a message
  }
  return 0;
}
