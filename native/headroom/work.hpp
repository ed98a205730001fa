// The work that a trial inserts between bursts: three kinds, which load the core in different ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "headroom/job.hpp"
#include "measure/clock.hpp"

namespace dpubench::headroom {

/// A table for dependent loads: a single cycle through all its cache lines, so that no load can begin before the last one ended
/// and none is foreseen. Threads share it and only read it.
class WalkTable {
 public:
  /// @param bytes size, rounded down to whole lines; at least two lines
  WalkTable(std::size_t bytes, std::uint64_t seed);
  [[nodiscard]] std::size_t bytes() const { return lines_.size() * sizeof(Line); }
  /// Follow `steps` links from `at`. @return where they end
  [[nodiscard]] std::uint32_t walk(std::uint32_t at, std::uint64_t steps) const noexcept {
    for (std::uint64_t i = 0; i < steps; ++i) at = lines_[at].next;
    return at;
  }
  /// Return a place to start at, different for each thread.
  [[nodiscard]] std::uint32_t start(unsigned thread) const noexcept {
    return static_cast<std::uint32_t>((std::uint64_t{thread} * 0x9E3779B9U) % lines_.size());
  }

 private:
  struct alignas(64) Line {
    std::uint32_t next;
  };
  std::vector<Line> lines_;
};

/// Return the bytes of the table of kCache: half of L2, so that the packet loop's own lines fit beside it.
std::size_t cache_table_bytes();
/// Return the bytes of the table of kMemory: twice the last level of cache, but at most kMostMemoryTable or an eighth of the free
/// memory. A table that is capped may lie in the last level; `is_beyond_caches` tells.
std::size_t memory_table_bytes();
/// Return whether a table is larger than this machine's last level of cache. False where the kernel does not tell its size.
bool is_beyond_caches(std::size_t bytes);
inline constexpr std::size_t kMostMemoryTable = std::size_t{128} << 20;

/// The work of one thread, in steps of a few ns.
class Work {
 public:
  /// @param table of the kinds kCache and kMemory; null for kSpin
  Work(Delay kind, const WalkTable* table, unsigned thread)
      : kind_(kind), table_(table), at_(table == nullptr ? 0 : table->start(thread)) {}
  void do_steps(std::uint64_t steps) noexcept;
  /// Return the time of a step in ns when the work runs alone on the calling thread: the least of several stretches, since others
  /// can only make one longer. Takes about 10 ms.
  [[nodiscard]] double calibrate(const measure::Clock& clock) noexcept;

 private:
  Delay kind_;
  const WalkTable* table_;
  std::uint64_t state_ = 0x9E3779B97F4A7C15U;
  std::uint32_t at_;
};

}  // namespace dpubench::headroom
