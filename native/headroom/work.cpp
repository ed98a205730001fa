#include "headroom/work.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "measure/window.hpp"
#include "protocol/machine.hpp"

namespace dpubench::headroom {
namespace {

constexpr double kStretchNs = 3e5;
constexpr std::size_t kStretches = 16;
/// L2 of a core where the kernel does not tell.
constexpr std::size_t kUsualL2 = std::size_t{512} << 10;
constexpr std::size_t kUsualMemoryTable = std::size_t{64} << 20;

class Steps final : public Insertion {
 public:
  Steps(Delay kind, const WalkTable* table, unsigned thread, std::uint64_t steps) : work_(kind, table, thread), steps_(steps) {}
  void after_burst(std::uint32_t /*packets*/) noexcept override { work_.do_steps(steps_); }

 private:
  Work work_;
  std::uint64_t steps_;
};

}  // namespace

WalkTable::WalkTable(std::size_t bytes, std::uint64_t seed) : lines_(std::max<std::size_t>(2, bytes / sizeof(Line))) {
  // Sattolo's shuffle makes a single cycle through all lines. The walk therefore never falls into a part that fits a cache.
  std::vector<std::uint32_t> order(lines_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::uint64_t x = seed * 2 + 1;
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    std::swap(order[i], order[(x >> 33) % i]);
  }
  for (std::size_t i = 0; i < order.size(); ++i) lines_[i].next = order[i];
}

std::size_t cache_table_bytes() {
  const std::size_t l2 = protocol::caches().l2;
  return (l2 == 0 ? kUsualL2 : l2) / 2;
}

std::size_t memory_table_bytes() {
  const protocol::Caches caches = protocol::caches();
  const std::size_t last = std::max(caches.l3, caches.l2);
  std::size_t bytes = std::min(last == 0 ? kUsualMemoryTable : 2 * last, kMostMemoryTable);
  if (const std::uint64_t free = protocol::available_memory(); free != 0) bytes = std::min<std::size_t>(bytes, free / 8);
  return bytes;
}

bool is_beyond_caches(std::size_t bytes) {
  const protocol::Caches caches = protocol::caches();
  const std::size_t last = std::max(caches.l3, caches.l2);
  return last != 0 && bytes > last;
}

void Work::do_steps(std::uint64_t steps) noexcept {
  if (table_ != nullptr) {
    at_ = table_->walk(at_, steps);
    measure::keep(at_);
    return;
  }
  std::uint64_t x = state_;
  for (std::uint64_t i = 0; i < steps; ++i) {
    x *= 0xD1342543DE82EF95U;
    asm volatile("" : "+r"(x));  // without this, multiplications by a constant fold into one
  }
  state_ = x | 1U;  // an even number would decay to zero
}

double Work::calibrate(const measure::Clock& clock) noexcept {
  std::uint64_t steps = 256;
  const auto timed = [&] {
    const std::uint64_t start = clock.ticks();
    do_steps(steps);
    return clock.to_ns(clock.ticks() - start);
  };
  while (timed() < kStretchNs && steps < std::uint64_t{1} << 32) steps *= 2;
  std::array<double, kStretches> taken{};
  std::generate(taken.begin(), taken.end(), timed);
  return *std::min_element(taken.begin(), taken.end()) / static_cast<double>(steps);
}

bool is_work(Delay delay) {
  return delay == Delay::kSpin || delay == Delay::kCache || delay == Delay::kMemory;
}

void WorkSupply::calibrate(Delay kind, const OnThread& on_thread) {
  double& step_ns = step_ns_.at(place(kind));
  if (step_ns > 0) return;
  if (kind == Delay::kCache) cache_ = std::make_unique<WalkTable>(cache_table_bytes(), seed_);
  if (kind == Delay::kMemory) memory_ = std::make_unique<WalkTable>(memory_table_bytes(), seed_);
  const measure::Clock& clock = measure::Clock::instance();
  on_thread([&] { step_ns = Work(kind, table_of(kind), 0).calibrate(clock); });
}

std::uint64_t WorkSupply::steps(Delay kind, double ns) const {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(ns / step_ns(kind))));
}

const WalkTable* WorkSupply::table_of(Delay kind) const {
  return kind == Delay::kCache ? cache_.get() : kind == Delay::kMemory ? memory_.get() : nullptr;
}

std::unique_ptr<Insertion> WorkSupply::insertion(Delay kind, unsigned thread, std::uint64_t steps) const {
  return std::make_unique<Steps>(kind, table_of(kind), thread, steps);
}

}  // namespace dpubench::headroom
