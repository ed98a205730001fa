#include "offload/compute.hpp"

#include <algorithm>

#include "protocol/machine.hpp"

namespace dpubench::offload {
namespace {

constexpr std::uint64_t kStride = 0x9E3779B97F4A7C15U;
constexpr std::size_t kUsualL2 = std::size_t{512} << 10;
constexpr std::size_t kUsualMemoryTable = std::size_t{64} << 20;
constexpr std::size_t kMostMemoryTable = std::size_t{128} << 20;

std::size_t last_level() {
  const protocol::Caches caches = protocol::caches();
  return std::max(caches.l3, caches.l2);
}

}  // namespace

Compute::Compute(std::size_t bytes) : blocks_(std::max<std::size_t>(1, bytes / kUnitBytes)) {
  std::uint64_t number = 0;
  for (Block& block : blocks_) {
    for (std::uint64_t& word : block.words) word = number++;
  }
}

void Compute::run(std::uint64_t units) noexcept {
  for (std::uint64_t i = 0; i < units; ++i) {
    // Each pass adds another number, so that passes cannot be folded into one.
    const std::uint64_t added = (pass_ + 1) * kStride;
    for (std::uint64_t& word : blocks_[next_].words) word += added;
    asm volatile("" : : "r"(blocks_.data()) : "memory");  // the table must hold the result of each unit
    if (++next_ == blocks_.size()) {
      next_ = 0;
      ++pass_;
    }
  }
}

std::string Compute::check() const {
  std::uint64_t number = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const std::uint64_t passes = pass_ + (b < next_ ? 1 : 0);
    // The even one of two factors is halved: the sum 1 + ... + passes, modulo 2^64.
    const std::uint64_t sum = passes % 2 == 0 ? passes / 2 * (passes + 1) : (passes + 1) / 2 * passes;
    for (const std::uint64_t word : blocks_[b].words) {
      if (word != number + sum * kStride) {
        return "the computation is wrong: word " + std::to_string(number) + " of its table after " + std::to_string(passes) +
               " passes";
      }
      ++number;
    }
  }
  return "";
}

std::size_t table_bytes(WorkKind kind, std::size_t sharing) {
  if (kind == WorkKind::kCache) {
    const std::size_t l2 = protocol::caches().l2;
    return (l2 == 0 ? kUsualL2 : l2) / 2;
  }
  const std::size_t last = last_level();
  std::size_t bytes = std::min(last == 0 ? kUsualMemoryTable : 2 * last, kMostMemoryTable);
  if (const std::uint64_t free = protocol::available_memory(); free != 0)
    bytes = std::min<std::size_t>(bytes, free / 8 / sharing);
  return bytes;
}

bool is_beyond_caches(std::size_t bytes) {
  const std::size_t last = last_level();
  return last != 0 && bytes > last;
}

}  // namespace dpubench::offload
