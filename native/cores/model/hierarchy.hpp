// All caches of a chip, and the memory behind them.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "cores/model/cache.hpp"
#include "cores/model/memory.hpp"

namespace dpubench::cores {

class Hierarchy {
 public:
  /// @param now  must outlive the hierarchy
  Hierarchy(const Description& description, const Now& now);

  [[nodiscard]] Cache& instruction_cache(std::uint32_t core) { return of_core(description_.instruction_cache, core); }
  [[nodiscard]] Cache& data_cache(std::uint32_t core) { return of_core(description_.data_cache, core); }
  /// Return the cache of level `level` that `core` uses.
  [[nodiscard]] Cache& of_core(std::size_t level, std::uint32_t core) {
    return *caches_[level][core / description_.caches[level].shared_by];
  }
  [[nodiscard]] MainMemory& memory() { return memory_; }
  [[nodiscard]] std::uint32_t line_bytes() const { return line_bytes_; }
  /// Forget a line in all caches.
  void invalidate(std::uint64_t line);

  void reset_counters();
  /// Return the counters of each level, summed over its caches, and those of memory.
  [[nodiscard]] nlohmann::json counters() const;

 private:
  Description description_;
  std::uint32_t line_bytes_;
  MainMemory memory_;
  std::vector<std::vector<std::unique_ptr<Cache>>> caches_;  ///< by level, then by group of cores
};

}  // namespace dpubench::cores
