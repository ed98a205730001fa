// What a miss goes to: another cache, or memory.
#pragma once

#include <cstdint>

#include "cores/model/calendar.hpp"

namespace dpubench::cores {

/// One level of the memory system. Lines are named by number (address / line size); a level is asked in the order in which
/// instructions enter the window, for times that need not be in order.
class Level {
 public:
  virtual ~Level() = default;
  /// Asks for a line. @param at  cycle of the load's address: latencies of all levels count from there @param demand  false: a
  /// prefetch
  /// @returns the cycle in which the data is at the core
  virtual Cycle read(std::uint64_t line, Cycle at, bool demand) = 0;
  /// Takes a changed line that was evicted above.
  virtual void write_back(std::uint64_t line, Cycle at) = 0;
  /// Leaves the state that an access would leave, in no time and uncounted: between samples.
  virtual void warm(std::uint64_t line, bool is_store) = 0;
};

}  // namespace dpubench::cores
