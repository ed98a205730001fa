// One timed stretch: all threads step through their work from a common start until the window is long enough.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "measure/clock.hpp"
#include "measure/counters.hpp"
#include "measure/team.hpp"

namespace dpubench::measure {

/// One thread's work, cut in bursts.
class Stepper {
 public:
  virtual ~Stepper() = default;
  /// Begins `bursts` bursts and returns the operations that were completed meanwhile: all of them, unless some of its bursts may
  /// be under way when it returns.
  virtual std::uint64_t step(std::uint64_t bursts) noexcept = 0;
  /// Waits for what steps left under way and returns the operations in it.
  virtual std::uint64_t finish() noexcept { return 0; }
};

struct WindowSpec {
  double min_ms = 3;               ///< a window is at least this long ...
  std::uint64_t min_bursts = 100;  ///< ... and holds at least this many bursts of each thread ...
  double max_ms = 50;              ///< ... unless that would take longer than this
  double threaded_min_ms = 200;  ///< least length with more threads than CPUs: shorter ones would measure the scheduler's slices
};

struct Window {
  std::uint64_t operations = 0;
  std::uint64_t bursts = 0;                  ///< of all threads
  std::uint64_t least_bursts = 0;            ///< of the thread that did fewest
  double elapsed_ns = 0;                     ///< first start to last end
  std::optional<std::uint64_t> core_cycles;  ///< of all threads, where every one has a counter that counted throughout
};

/// Bursts between two clock readings, such that the reading costs below 0.1 % (2,000 times its overhead plus resolution), found
/// by doubling. Runs untimed work on the calling thread; nothing is under way when it returns.
std::uint64_t bursts_per_reading(Stepper& stepper, const Clock& clock);

/// Runs one window. It begins and ends with nothing under way. Operations of all threads are divided by the common wall time: a
/// thread that starts late or ends late counts against the rate. @param steppers one per thread of the team @param chunk bursts
/// between clock readings
/// @param counters one per thread of the team, opened by it, or none; they are read just outside the clock's readings
Window run_window(ThreadTeam& team, std::span<Stepper* const> steppers, std::uint64_t chunk, const WindowSpec& spec,
                  const Clock& clock, std::span<const std::unique_ptr<CycleCounter>> counters = {});

/// Keeps a value from being removed by the optimiser at no cost beyond having it in a register.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace dpubench::measure
