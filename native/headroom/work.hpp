// The work that a trial inserts between bursts: three kinds, which load the core in different ways.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
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

/// What a thread does after each burst of a trial. One call per burst.
class Insertion {
 public:
  virtual ~Insertion() = default;
  /// Do the work that goes with a burst of `packets`.
  virtual void after_burst(std::uint32_t packets) noexcept = 0;
  /// Check the work of the trial that ended. @return what is wrong with it, or an empty text
  virtual std::string check() { return {}; }
};

/// Return whether a delay is work of this file.
bool is_work(Delay delay);

/// The work of a process: tables and calibrations, each made when it is first needed. All threads share it.
class WorkSupply {
 public:
  /// A function that runs a call on the thread whose speed counts.
  using OnThread = std::function<void(const std::function<void()>&)>;

  explicit WorkSupply(std::uint64_t seed) : seed_(seed) {}
  /// Make the table of `kind` and time its steps, unless that was done.
  void calibrate(Delay kind, const OnThread& on_thread);
  /// Return the time of a step in ns. Calibrate before.
  [[nodiscard]] double step_ns(Delay kind) const { return step_ns_.at(place(kind)); }
  /// Return the steps that take `ns` when the work runs alone. One at least: a load from memory takes longer than the shortest
  /// delays, and the time that it takes is what counts. Calibrate before.
  [[nodiscard]] std::uint64_t steps(Delay kind, double ns) const;
  /// Return the table of `kind`; null for kSpin. Calibrate before.
  [[nodiscard]] const WalkTable* table_of(Delay kind) const;
  /// Return the insertion of a thread that does `steps` after each burst.
  [[nodiscard]] std::unique_ptr<Insertion> insertion(Delay kind, unsigned thread, std::uint64_t steps) const;

 private:
  static std::size_t place(Delay kind) { return static_cast<std::size_t>(kind) - static_cast<std::size_t>(Delay::kSpin); }

  std::uint64_t seed_;
  std::array<double, 3> step_ns_{};  ///< of kSpin, kCache, kMemory; 0: not calibrated yet
  std::unique_ptr<WalkTable> cache_;
  std::unique_ptr<WalkTable> memory_;
};

/// What a process tells of the speed of its threads.
struct Pace {
  bool pinned = false;
  double spin_step_ns = 0;  ///< time of a step of spinning, as calibrated on the first thread; 0: not known
  std::string no_cycles;    ///< why no thread has a counter of core cycles; empty where they have
};

}  // namespace dpubench::headroom
