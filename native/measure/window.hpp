// Runs one timed window: all threads start together and step through their work until the window is long enough.
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

/// The work of one thread, cut into bursts.
class Stepper {
 public:
  virtual ~Stepper() = default;
  /// Begin `bursts` bursts. @returns the operations completed meanwhile: all of them, unless some bursts are still in flight
  virtual std::uint64_t step(std::uint64_t bursts) noexcept = 0;
  /// Wait for the bursts in flight. @returns the operations in them
  virtual std::uint64_t finish() noexcept { return 0; }
};

struct WindowSpec {
  double min_ms = 3;               ///< least length of a window
  std::uint64_t min_bursts = 100;  ///< least number of bursts of each thread
  double max_ms = 50;              ///< length after which min_bursts no longer counts
  double threaded_min_ms = 200;  ///< least length with more threads than CPUs: shorter ones would measure the scheduler's slices
};

struct Window {
  std::uint64_t operations = 0;
  std::uint64_t bursts = 0;                  ///< bursts of all threads
  std::uint64_t least_bursts = 0;            ///< bursts of the thread that did fewest
  double elapsed_ns = 0;                     ///< from the first start to the last end
  std::optional<std::uint64_t> core_cycles;  ///< sum over all threads, if each has a counter that counted throughout
};

/// Return the number of bursts between two clock readings that keeps the cost of a reading below 0.1 % (2,000 times its overhead
/// plus resolution). Find it by doubling, with untimed work on the calling thread. Nothing is in flight at the return.
std::uint64_t bursts_per_reading(Stepper& stepper, const Clock& clock);

/// Run one window. Nothing is in flight at its beginning and end. The rate is the operations of all threads divided by the
/// common wall time, so a thread that starts or ends late lowers it. @param steppers one per thread of the team
/// @param chunk bursts between clock readings
/// @param counters one per thread of the team, opened by that thread, or none; read just outside the clock's readings
Window run_window(ThreadTeam& team, std::span<Stepper* const> steppers, std::uint64_t chunk, const WindowSpec& spec,
                  const Clock& clock, std::span<const std::unique_ptr<CycleCounter>> counters = {});

/// Keep the optimiser from removing a value. It costs nothing but a register.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace dpubench::measure
