// The instrument: clock, team, windows, canaries.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "measure/canary.hpp"
#include "measure/clock.hpp"
#include "measure/team.hpp"
#include "measure/window.hpp"

namespace dpubench::measure {
namespace {

TEST(Clock, EverySourceAgreesWithTheKernel) {
  for (const ClockSource source : {best_clock_source(), ClockSource::kMonotonicRaw}) {
    const Clock clock(source);
    const std::uint64_t ns0 = Clock::monotonic_raw_ns();
    const std::uint64_t t0 = clock.ticks();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const double by_clock = clock.to_ns(clock.ticks() - t0);
    const double by_kernel = static_cast<double>(Clock::monotonic_raw_ns() - ns0);
    EXPECT_NEAR(by_clock / by_kernel, 1.0, 0.02) << clock.source_name();
    EXPECT_LT(std::abs(clock.cross_check_ppm()), 1000) << clock.source_name();
    EXPECT_GT(clock.hz(), 1e6);
    EXPECT_GE(clock.overhead_ns(), 0);
    EXPECT_GT(clock.resolution_ns(), 0);
  }
}

TEST(Clock, NeverRunsBackwards) {
  const Clock& clock = Clock::instance();
  std::uint64_t last = clock.ticks();
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t now = clock.ticks();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, ConvertsBothWays) {
  const Clock& clock = Clock::instance();
  EXPECT_NEAR(clock.to_ns(clock.from_ns(1e6)), 1e6, 2 * clock.to_ns(1));
}

TEST(ThreadTeam, RunsEveryThreadOnItsCpu) {
  const auto cpus = allowed_cpus();
  ThreadTeam team(3, cpus);
  EXPECT_EQ(team.size(), 3U);
  EXPECT_EQ(team.cpus(), std::min<std::size_t>(3, cpus.size()));
  ASSERT_TRUE(team.pinned());
  std::vector<int> ran_on(3, -1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    team.run([&](unsigned i) { ran_on[i] = sched_getcpu(); });
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(ran_on[i], cpus[i % cpus.size()]);
  }
}

TEST(ThreadTeam, SeedMovesStacksWithinAPage) {
  const auto place = [](std::uint64_t seed) {
    std::uintptr_t at = 0;
    ThreadTeam team(1, {}, seed);
    team.run([&](unsigned) {
      const volatile char here = 0;
      at = reinterpret_cast<std::uintptr_t>(&here) % 4096;
    });
    return at;
  };
  std::set<std::uintptr_t> places;
  for (std::uint64_t seed = 0; seed < 16; ++seed) places.insert(place(seed));
  EXPECT_GE(places.size(), 12U);
  EXPECT_EQ(place(5), place(5));
}

TEST(ThreadTeam, SaysWhenItCouldNotPin) {
  ThreadTeam team(1, {1023});
  EXPECT_FALSE(team.pinned());
}

TEST(ThreadTeam, HandsOnAnException) {
  ThreadTeam team(2, {});
  EXPECT_THROW(team.run([](unsigned i) {
    if (i == 1) throw std::runtime_error("from a thread");
  }),
               std::runtime_error);
  std::atomic<int> ran = 0;
  team.run([&](unsigned) { ++ran; });  // and goes on working
  EXPECT_EQ(ran, 2);
}

/// Takes a fixed time per burst and counts what it was asked for.
class Sleeper final : public Stepper {
 public:
  explicit Sleeper(std::chrono::microseconds burst, std::uint64_t operations = 32) : burst_(burst), operations_(operations) {}
  std::uint64_t step(std::uint64_t bursts) noexcept override {
    const auto until = std::chrono::steady_clock::now() + burst_ * bursts;
    while (std::chrono::steady_clock::now() < until) {
    }
    total += bursts;
    return bursts * operations_;
  }
  std::uint64_t total = 0;

 private:
  std::chrono::microseconds burst_;
  std::uint64_t operations_;
};

TEST(Window, CountsAllOperationsOfAllThreadsOverCommonTime) {
  ThreadTeam team(2, {});
  Sleeper a(std::chrono::microseconds(20));
  Sleeper b(std::chrono::microseconds(20), 8);
  Stepper* const steppers[] = {&a, &b};
  WindowSpec spec;
  spec.min_ms = 2;
  spec.threaded_min_ms = 2;
  const Window window = run_window(team, steppers, 2, spec, Clock::instance());
  EXPECT_EQ(window.operations, a.total * 32 + b.total * 8);
  EXPECT_EQ(window.bursts, a.total + b.total);
  EXPECT_EQ(window.least_bursts, std::min(a.total, b.total));
  EXPECT_GE(window.elapsed_ns, 2e6);
}

TEST(Window, EndsWithTheLastThread) {
  WindowSpec spec;
  spec.min_ms = 1;
  spec.threaded_min_ms = 1;
  for (const bool slow_first : {true, false}) {
    ThreadTeam team(2, {});
    Sleeper quick(std::chrono::microseconds(20));
    Sleeper slow(std::chrono::milliseconds(20));
    Stepper* const steppers[] = {slow_first ? &slow : &quick, slow_first ? &quick : &slow};
    EXPECT_GE(run_window(team, steppers, 1, spec, Clock::instance()).elapsed_ns, 20e6);
  }
}

TEST(Window, LastsUntilItHoldsEnoughBursts) {
  ThreadTeam team(1, {});
  Sleeper slow(std::chrono::microseconds(100));
  Stepper* const steppers[] = {&slow};
  WindowSpec spec;
  spec.min_ms = 1;
  spec.min_bursts = 100;
  spec.max_ms = 10'000;
  EXPECT_GE(run_window(team, steppers, 1, spec, Clock::instance()).bursts, 100U);
  spec.max_ms = 3;  // and gives up on that past max_ms
  const Window cut = run_window(team, steppers, 1, spec, Clock::instance());
  EXPECT_LT(cut.bursts, 100U);
  EXPECT_GE(cut.elapsed_ns, 3e6);
}

TEST(Window, IsLongWhereThreadsShareACpu) {
  ThreadTeam team(2, {allowed_cpus().front()});
  Sleeper a(std::chrono::microseconds(50));
  Sleeper b(std::chrono::microseconds(50));
  Stepper* const steppers[] = {&a, &b};
  WindowSpec spec;
  spec.threaded_min_ms = 60;
  EXPECT_GE(run_window(team, steppers, 1, spec, Clock::instance()).elapsed_ns, 60e6);
}

TEST(Window, ReadsTheClockSeldomEnough) {
  const Clock& clock = Clock::instance();
  CoreCanary quick;
  const std::uint64_t bursts = bursts_per_reading(quick, clock);
  const std::uint64_t start = clock.ticks();
  constexpr int kRepeats = 20;
  for (int i = 0; i < kRepeats; ++i) quick.step(bursts);
  const double mean_ns = clock.to_ns(clock.ticks() - start) / kRepeats;
  EXPECT_LT(clock.overhead_ns() + clock.resolution_ns(), mean_ns * 0.002);
}

TEST(Canary, CountsItsSteps) {
  CoreCanary core;
  EXPECT_EQ(core.step(3), 3 * 256U);
  MemoryCanary memory(1 << 16, 7);
  EXPECT_EQ(memory.step(5), 5 * 256U);
}

}  // namespace
}  // namespace dpubench::measure
