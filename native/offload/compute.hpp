// What hosts compute: passes over a table that stays in the cache or comes from memory. The result is known in advance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "offload/job.hpp"

namespace dpubench::offload {

class Compute {
 public:
  static constexpr std::size_t kWords = 64;  ///< words of eight bytes in a unit
  static constexpr std::uint64_t kUnitBytes = kWords * 8;

  /// @param bytes of the table
  explicit Compute(std::size_t bytes);
  /// Do units: read, change and write the next words, around and around.
  void run(std::uint64_t units) noexcept;
  /// Check the whole table against what all units so far must have made of it. @return what is wrong, or an empty text
  [[nodiscard]] std::string check() const;
  /// Return the words of a block of the table.
  [[nodiscard]] std::span<std::uint64_t> block(std::size_t number) { return blocks_.at(number).words; }
  /// Return the bytes of the table.
  [[nodiscard]] std::size_t bytes() const { return blocks_.size() * kUnitBytes; }

 private:
  struct alignas(64) Block {
    std::array<std::uint64_t, kWords> words;
  };
  std::vector<Block> blocks_;
  std::size_t next_ = 0;
  std::uint64_t pass_ = 0;
};

/// Return the size of the table: half of L2; or twice the last level of cache, but at most 128 MiB and an eighth of this rank's
/// share of the free memory. @param sharing ranks on this node
std::size_t table_bytes(WorkKind kind, std::size_t sharing);
/// Return whether a table is larger than this machine's last level of cache. False where the kernel does not tell its size.
bool is_beyond_caches(std::size_t bytes);

}  // namespace dpubench::offload
