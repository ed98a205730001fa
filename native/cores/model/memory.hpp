// The memory behind the last cache: latency, banks, and bandwidth. All cores and the DMA agent share it.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "cores/model/counters.hpp"
#include "cores/model/level.hpp"

namespace dpubench::cores {

class MainMemory final : public Level {
 public:
  MainMemory(const Description& description, std::uint32_t line_bytes, const Now& now);

  Cycle read(std::uint64_t line, Cycle at, bool demand) override;
  void write_back(std::uint64_t line, Cycle at) override;
  void warm(std::uint64_t /*line*/, bool /*is_store*/) override {}
  /// Call `before` with the time of each request before it is booked. Other users of memory can then book their earlier requests
  /// first, although cores ask for times far ahead.
  void call_before_requests(std::function<void(Cycle at)> before) { before_ = std::move(before); }
  /// Book the bank and the bus for a line. @returns the cycles that the line waits for them from `at` on
  Cycle book(std::uint64_t line, Cycle at);

  [[nodiscard]] const MemoryCounters& counters() const { return counters_; }
  void reset_counters() { counters_ = {}; }

 private:
  std::uint32_t line_bytes_;
  Cycle latency_cycles_;
  Cycle bank_busy_cycles_;
  std::vector<Places> banks_;
  Pipe bus_;
  std::function<void(Cycle)> before_;
  MemoryCounters counters_;
};

}  // namespace dpubench::cores
