// A non-blocking cache with a prefetcher.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cores/model/counters.hpp"
#include "cores/model/level.hpp"
#include "cores/model/sets.hpp"

namespace dpubench::cores {

/// A write-back cache that does not include the levels above it and allocates on stores. A line on its way is one miss, however
/// many accesses wait for it.
class Cache final : public Level {
 public:
  /// @param next  the level that gets the misses; null for an ideal cache
  Cache(const CacheLevel& description, Level* next, const Now& now);

  Cycle read(std::uint64_t line, Cycle at, bool demand) override;
  void write_back(std::uint64_t line, Cycle at) override;
  void warm(std::uint64_t line, bool is_store) override;

  /// Do a load or a fetch of the core in the first level. @param pc  address of the load; the prefetcher learns a stride per load
  /// @returns when the data is at the core
  Cycle load(std::uint64_t line, std::uint64_t pc, Cycle at);
  /// Do a store that wants to write a line from `at` on. @returns when the line can be written
  Cycle store(std::uint64_t line, Cycle at);

  /// Take a line that a device wrote. It is here from now on, and dirty. Takes `bytes_per_cycle` of the port.
  void deliver(std::uint64_t line, Cycle at);
  /// Return whether the line is here. If so, a device reads it and takes `bytes_per_cycle` of the port.
  bool fetch_for_device(std::uint64_t line, Cycle at);
  /// Forget a line, dirty or not.
  void invalidate(std::uint64_t line);

  [[nodiscard]] std::uint32_t line_bytes() const { return description_.line_bytes; }
  [[nodiscard]] Cycle latency_cycles() const { return description_.latency_cycles; }
  [[nodiscard]] const CacheLevel& description() const { return description_; }
  [[nodiscard]] const CacheCounters& counters() const { return counters_; }
  void reset_counters() { counters_ = {}; }

 private:
  struct Line {
    Cycle asked = 0;
    Cycle ready = 0;  ///< cycle at which its data is at the core
    bool dirty = false;
    bool prefetched = false;  ///< prefetched, and not accessed since
  };
  struct Stride {
    std::uint64_t pc = 0;
    std::uint64_t last = 0;
    std::int64_t stride = 0;  ///< lines
    std::uint32_t confidence = 0;
  };
  static constexpr std::size_t kStrides = 256;

  /// Look a line up, and ask the next level for it on a miss. @param prefetch  out: whether the access should start a prefetch
  Cycle access(std::uint64_t line, Cycle at, bool is_store, bool& prefetch);
  Cycle on_its_way(Line& line, Cycle at);
  std::size_t fill(std::uint64_t line, Cycle asked, Cycle ready);
  void prefetch(std::uint64_t line, Cycle at);
  void prefetch_next(std::uint64_t line, Cycle at);
  void prefetch_stride(std::uint64_t line, std::uint64_t pc, Cycle at);

  CacheLevel description_;
  Level* next_;
  Sets sets_;
  std::vector<Line> lines_;  ///< by slot
  const Now* now_;
  Places registers_;
  Pipe port_;
  std::array<Stride, kStrides> strides_{};
  std::uint64_t page_lines_;
  CacheCounters counters_;
};

}  // namespace dpubench::cores
