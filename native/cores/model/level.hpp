// The interface of a memory level that takes misses: another cache, or memory.
#pragma once

#include <cstdint>

#include "cores/model/calendar.hpp"

namespace dpubench::cores {

/// One level of the memory system. Lines are named by number (address / line size). Requests come in the order in which
/// instructions enter the window. Their times need not be in order.
class Level {
 public:
  virtual ~Level() = default;
  /// Ask for a line. @param at  cycle of the load's address; the latencies of all levels count from there
  /// @param demand  false for a prefetch @returns the cycle in which the data is at the core
  virtual Cycle read(std::uint64_t line, Cycle at, bool demand) = 0;
  /// Take a dirty line that a level above evicted.
  virtual void write_back(std::uint64_t line, Cycle at) = 0;
  /// Leave the state that an access would leave, without time and without counting. It is used between samples.
  virtual void warm(std::uint64_t line, bool is_store) = 0;
};

}  // namespace dpubench::cores
