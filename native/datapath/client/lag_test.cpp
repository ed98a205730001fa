// Tests how late the client sends each packet. The client's loop stands still now and then, by a scripted clock.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "datapath/client/scripted_port.hpp"
#include "datapath/client/trial.hpp"

namespace dpubench::datapath {
namespace {

using nlohmann::json;
using test::Act;
using test::ScriptedPort;

constexpr std::uint64_t kStallNs = 1'000'000;

/// A clock that moves on by a step with each reading, and by 1 ms more with the first reading of each period.
struct StallingClock {
  std::uint64_t step_ns = 200;
  std::uint64_t period_ns = 20'000'000;  ///< a stall of 1 ms is 5 % of the period
  std::uint64_t next_ns = 0;
  std::uint64_t next_stall_ns = 0;
  std::uint64_t now_ns() {
    const std::uint64_t now = next_ns;
    next_ns += step_ns;
    if (now >= next_stall_ns) {
      next_ns += kStallNs;
      next_stall_ns += period_ns;
    }
    return now;
  }
};

json lag_of(TrialSpec spec, StallingClock clock, std::uint32_t burst = 32) {
  TrafficJob job;
  job.traffic.flows = 1;
  job.traffic.frame_sizes = {{64, 1.0}};
  job.burst = burst;
  job.receive = false;
  ScriptedPort port(test::pool());
  port.act = [](std::uint64_t) { return Act::kLose; };
  inputs::Store store(job.inputs, job.seed);
  const EngineCatalog engines;
  const auto traffic = model_traffic(job, store, engines);
  TrialRunner runner(port, *traffic, nullptr, job);
  const std::atomic<bool> stop = false;
  json event = runner.run(spec, stop, clock);
  EXPECT_EQ(event["sent"], event["due"]);
  std::uint64_t recorded = 0;
  for (const json& bucket : event["lag_ns"]["buckets"]) recorded += bucket[1].get<std::uint64_t>();
  EXPECT_EQ(recorded, event["due"].get<std::uint64_t>()) << "each packet has a lag of its own";
  return event;
}

class ClientLag : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Rates, ClientLag, testing::Values(0.1e6, 1e6, 5e6));

TEST_P(ClientLag, IsThatOfThePacketsAndNotOfTheBurstsAfterAStall) {
  const TrialSpec spec{.number = 1, .rate_pps = GetParam(), .ramp_s = 0, .duration_s = 0.1, .drain_s = 0};
  const json lag = lag_of(spec, {})["lag_ns"];
  // 5 % of the packets are due in stalls, evenly from their beginning to their end. So 1 % of all packets waits 0.8 ms and more.
  EXPECT_NEAR(lag["p99"].get<double>(), 0.8 * kStallNs, 0.05 * kStallNs);
  EXPECT_NEAR(lag["p99_9"].get<double>(), 0.98 * kStallNs, 0.05 * kStallNs);
  EXPECT_NEAR(lag["max"].get<double>(), kStallNs, 0.02 * kStallNs);
  EXPECT_LT(lag["p50"].get<double>(), 1000);
  EXPECT_NEAR(lag["mean"].get<double>(), 0.05 * 0.5 * kStallNs, 0.01 * kStallNs);
}

TEST(ClientLag, OfPacketsThatAreDueTogetherIsTheSame) {
  StallingClock clock{.step_ns = 1000, .period_ns = ~std::uint64_t{0} / 2};
  const TrialSpec spec{.number = 1,
                       .rate_pps = 1e6,
                       .schedule = Schedule::kBurst,
                       .burst_packets = 100,
                       .ramp_s = 0.01,
                       .duration_s = 0.01,
                       .drain_s = 0};
  const json lag = lag_of(spec, clock, 100)["lag_ns"];
  EXPECT_EQ(lag["p50"], lag["max"]);
}

}  // namespace
}  // namespace dpubench::datapath
