// Parses any text. The result is a job or a command of the server or client within its documented ranges, or an Error.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.hpp"
#include "check.hpp"
#include "datapath/job.hpp"

using namespace dpubench::datapath;

namespace {

void check(const MemorySpec& memory, double time_limit_s, std::uint32_t max_frame, std::uint32_t burst) {
  FUZZ_CHECK(memory.mb >= 1 && time_limit_s > 0);
  FUZZ_CHECK(max_frame >= kMinFrame && max_frame <= kMaxFrame && burst >= 1 && burst <= kMaxPacketBurst);
}

void check(const ServerJob& job) {
  check(job.memory, job.time_limit_s, job.max_frame, job.burst);
  FUZZ_CHECK(!job.ports.empty() && job.sample_every >= 1 && !job.workload.name.empty());
  for (const int cpu : job.cpus) FUZZ_CHECK(cpu >= 0);
}

template <class Parse>
void tried(Parse parse) {
  try {
    parse();
  } catch (const dpubench::Error& error) {
    FUZZ_CHECK(error.what()[0] != 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  tried([&] { check(parse_server_job(input)); });
  tried([&] {
    const TrafficJob job = parse_traffic_job(input);
    check(job.memory, job.time_limit_s, job.max_frame, job.burst);
    FUZZ_CHECK(job.cpu >= 0 && job.traffic.flows >= 1 && job.traffic.segments >= 1);
    for (const double share : {job.traffic.retransmit_share, job.traffic.overlap_share, job.traffic.payload.signature_share}) {
      FUZZ_CHECK(share >= 0 && share <= 1);
    }
    for (const auto& [bytes, weight] : job.traffic.frame_sizes)
      FUZZ_CHECK(bytes >= kMinFrame && bytes <= kMaxFrame && weight > 0);
    if (job.server) check(*job.server);
  });
  tried([&] {
    const Command command = parse_command(input);
    if (const auto* const trial = std::get_if<TrialSpec>(&command)) {
      FUZZ_CHECK(trial->ramp_s >= 0 && trial->duration_s > 0 && trial->drain_s >= 0 && trial->burst_packets >= 1);
      const bool has_rate = trial->schedule != Schedule::kRecorded && trial->schedule != Schedule::kFlood;
      FUZZ_CHECK(!has_rate || trial->rate_pps > 0);
    }
  });
  return 0;
}
