#include "measure/canary.hpp"

#include <numeric>
#include <utility>

#include "measure/processor.hpp"

namespace dpubench::measure {
namespace {

constexpr std::uint64_t kStepsPerBurst = 256;

}  // namespace

double CoreCanary::multiply_cycles() {
  static const double cycles = multiply_latency(signature()).cycles;
  return cycles;
}

std::uint64_t CoreCanary::step(std::uint64_t bursts) noexcept {
  std::uint64_t x = state_;
  for (std::uint64_t i = 0; i < bursts * kStepsPerBurst; i += 8) {
    for (int k = 0; k < 8; ++k) {
      x *= 0xD1342543DE82EF95U;
      asm volatile("" : "+r"(x));  // without this, eight multiplications by a constant fold into one
    }
  }
  state_ = x | 1U;  // an even number would decay to zero
  return bursts * kStepsPerBurst;
}

MemoryCanary::MemoryCanary(std::size_t bytes, std::uint64_t seed) : nodes_(bytes / sizeof(Node)) {
  // Sattolo's shuffle makes a single cycle through all nodes. The walk therefore never falls into a part that fits a cache.
  std::vector<std::uint32_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::uint64_t x = seed * 2 + 1;
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    std::swap(order[i], order[(x >> 33) % i]);
  }
  for (std::size_t i = 0; i < order.size(); ++i) nodes_[i].next = order[i];
}

std::uint64_t MemoryCanary::step(std::uint64_t bursts) noexcept {
  std::uint32_t at = at_;
  for (std::uint64_t i = 0; i < bursts * kStepsPerBurst; ++i) at = nodes_[at].next;
  at_ = at;
  return bursts * kStepsPerBurst;
}

}  // namespace dpubench::measure
