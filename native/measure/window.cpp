#include "measure/window.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

namespace dpubench::measure {
namespace {

constexpr double kReadingShare = 0.0005;  // half of the promised 0.1 %, because a window also begins and ends with a reading
constexpr int kSpinsBeforeYield = 1000;

}  // namespace

std::uint64_t bursts_per_reading(Stepper& stepper, const Clock& clock) {
  const double enough_ns = (clock.overhead_ns() + clock.resolution_ns()) / kReadingShare;
  std::uint64_t bursts = 1;
  while (true) {
    const std::uint64_t start = clock.ticks();
    stepper.step(bursts);
    const double taken_ns = clock.to_ns(clock.ticks() - start);
    stepper.finish();
    if (taken_ns >= enough_ns || bursts >= (1U << 30)) return bursts;
    bursts *= 2;
  }
}

Window run_window(ThreadTeam& team, std::span<Stepper* const> steppers, std::uint64_t chunk, const WindowSpec& spec,
                  const Clock& clock, std::span<const std::unique_ptr<CycleCounter>> counters) {
  struct alignas(128) Tally {  // two lines: otherwise the adjacent-line prefetch would share them
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t operations = 0;
    std::uint64_t bursts = 0;
    std::optional<std::uint64_t> cycles;
  };
  const unsigned threads = team.size();
  const bool oversubscribed = threads > team.cpus();
  const std::uint64_t least = clock.from_ns((oversubscribed ? spec.threaded_min_ms : spec.min_ms) * 1e6);
  const std::uint64_t most = std::max(least, clock.from_ns(spec.max_ms * 1e6));
  std::vector<Tally> tallies(threads);
  std::atomic<unsigned> waiting{threads};

  team.run([&](unsigned index) {
    Stepper& stepper = *steppers[index];
    Tally tally;
    waiting.fetch_sub(1, std::memory_order_acq_rel);
    for (int spins = 0; waiting.load(std::memory_order_acquire) != 0;) {
      if (++spins % kSpinsBeforeYield == 0) std::this_thread::yield();  // the other thread may need this CPU
    }
    // Read the counter after the barrier: the cycles of waiting do not belong to the work.
    std::optional<CycleReading> before;
    if (!counters.empty()) before = counters[index]->read();
    tally.start = clock.ticks();
    do {
      tally.operations += stepper.step(chunk);
      tally.bursts += chunk;
      tally.end = clock.ticks();
    } while (tally.end - tally.start < least || (tally.bursts < spec.min_bursts && tally.end - tally.start < most));
    // A queue is filled and emptied once per window, not once per reading.
    if (const std::uint64_t rest = stepper.finish(); rest != 0) {
      tally.operations += rest;
      tally.end = clock.ticks();
    }
    if (before) {
      if (const auto after = counters[index]->read()) tally.cycles = cycles_between(*before, *after);
    }
    tallies[index] = tally;
  });

  Window window;
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  window.least_bursts = std::numeric_limits<std::uint64_t>::max();
  for (const Tally& tally : tallies) {
    window.operations += tally.operations;
    window.bursts += tally.bursts;
    window.least_bursts = std::min(window.least_bursts, tally.bursts);
    first = std::min(first, tally.start);
    last = std::max(last, tally.end);
  }
  window.elapsed_ns = clock.to_ns(last - first);
  if (std::all_of(tallies.begin(), tallies.end(), [](const Tally& tally) { return tally.cycles.has_value(); })) {
    std::uint64_t cycles = 0;
    for (const Tally& tally : tallies) cycles += *tally.cycles;
    window.core_cycles = cycles;
  }
  return window;
}

}  // namespace dpubench::measure
