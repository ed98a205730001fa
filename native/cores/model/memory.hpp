// Memory behind the last cache: latency, banks, and bandwidth that all cores and the DMA agent share.
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
  /// Calls `before` with the time of each request before it is booked: whoever else uses memory up to then books first, although
  /// cores ask for times far ahead.
  void call_before_requests(std::function<void(Cycle at)> before) { before_ = std::move(before); }
  /// Cycles that a line asked for at `at` waits for its bank and the bus; books both.
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
