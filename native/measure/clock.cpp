#include "measure/clock.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dpubench::measure {
namespace {

constexpr std::uint64_t kCalibrationNs = 20'000'000;

/// Return a (ticks, ns) pair: the closest two readings of ten tries. An interrupt between two readings would falsify the rate.
std::pair<std::uint64_t, std::uint64_t> simultaneous(const Clock& clock) {
  std::uint64_t best_gap = std::numeric_limits<std::uint64_t>::max();
  std::pair<std::uint64_t, std::uint64_t> best;
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t before = clock.ticks();
    const std::uint64_t ns = Clock::monotonic_raw_ns();
    const std::uint64_t after = clock.ticks();
    if (after - before < best_gap) {
      best_gap = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}

}  // namespace

ClockSource best_clock_source() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0) return ClockSource::kTsc;
#elif defined(__aarch64__)
  return ClockSource::kCntvct;  // the generic timer is architectural and has a constant rate (Arm ARM D11)
#endif
  return ClockSource::kMonotonicRaw;
}

Clock::Clock(ClockSource source) : source_(source) {
  if (source_ != ClockSource::kMonotonicRaw) {
    const auto [ticks0, ns0] = simultaneous(*this);
    while (monotonic_raw_ns() - ns0 < kCalibrationNs) {
    }
    const auto [ticks1, ns1] = simultaneous(*this);
    ns_per_tick_ = static_cast<double>(ns1 - ns0) / static_cast<double>(ticks1 - ticks0);
#if defined(__aarch64__)
    // The counter's frequency is known exactly. The measured rate serves only as a cross-check.
    std::uint64_t hz = 0;
    asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
    if (hz != 0) ns_per_tick_ = 1e9 / static_cast<double>(hz);
#endif
  }
  std::array<std::uint64_t, 1001> steps{};
  for (auto& step : steps) {
    const std::uint64_t a = ticks();
    step = ticks() - a;
  }
  std::nth_element(steps.begin(), steps.begin() + steps.size() / 2, steps.end());
  overhead_ns_ = to_ns(steps[steps.size() / 2]);
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = ticks();
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = ticks();
    if (now != last) smallest = std::min(smallest, now - last);
    last = now;
  }
  resolution_ns_ = smallest == std::numeric_limits<std::uint64_t>::max() ? 0 : to_ns(smallest);
  std::tie(base_ticks_, base_ns_) = simultaneous(*this);
}

const Clock& Clock::instance() {
  static const Clock clock(best_clock_source());
  return clock;
}

std::string Clock::source_name() const {
  switch (source_) {
    case ClockSource::kTsc:
      return "tsc";
    case ClockSource::kCntvct:
      return "cntvct";
    case ClockSource::kMonotonicRaw:
      break;
  }
  return "clock_gettime";
}

double Clock::cross_check_ppm() const {
  if (source_ == ClockSource::kMonotonicRaw) return 0;
  const auto [now_ticks, now_ns] = simultaneous(*this);
  const double by_ticks = to_ns(now_ticks - base_ticks_);
  const double by_kernel = static_cast<double>(now_ns - base_ns_);
  return by_kernel < 1e6 ? 0 : (by_ticks / by_kernel - 1) * 1e6;
}

}  // namespace dpubench::measure
