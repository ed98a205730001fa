// The clock of all results: invariant TSC on x86-64, CNTVCT on aarch64, otherwise clock_gettime(CLOCK_MONOTONIC_RAW).
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace dpubench::measure {

enum class ClockSource : std::uint8_t { kTsc, kCntvct, kMonotonicRaw };

class Clock {
 public:
  /// Return the process's clock. The first call calibrates it (about 20 ms) against CLOCK_MONOTONIC_RAW.
  static const Clock& instance();

  /// Return the ticks now, ordered after all earlier loads and stores.
  [[nodiscard]] std::uint64_t ticks() const {
#if defined(__x86_64__)
    if (source_ == ClockSource::kTsc) {
      _mm_lfence();  // RDTSC may overtake earlier instructions (Intel SDM vol. 2B, RDTSC)
      return __rdtsc();
    }
#elif defined(__aarch64__)
    if (source_ == ClockSource::kCntvct) {
      std::uint64_t value;
      asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value)::"memory");
      return value;
    }
#endif
    return monotonic_raw_ns();
  }
  [[nodiscard]] double to_ns(std::uint64_t ticks) const {
    return static_cast<double>(ticks) * ns_per_tick_;
  }
  [[nodiscard]] std::uint64_t from_ns(double ns) const {
    return static_cast<std::uint64_t>(ns / ns_per_tick_);
  }

  [[nodiscard]] ClockSource source() const {
    return source_;
  }
  [[nodiscard]] std::string source_name() const;
  [[nodiscard]] double hz() const {
    return 1e9 / ns_per_tick_;
  }
  [[nodiscard]] double overhead_ns() const {
    return overhead_ns_;
  }  ///< median duration of one ticks() call
  [[nodiscard]] double resolution_ns() const {
    return resolution_ns_;
  }  ///< smallest step that was seen
  /// Return the drift of this clock from CLOCK_MONOTONIC_RAW since calibration, in parts per million. 0 if it is that clock, and
  /// during the first millisecond.
  [[nodiscard]] double cross_check_ppm() const;

  static std::uint64_t monotonic_raw_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
  }

  /// @param source tests can force it; kTsc and kCntvct only where they exist
  explicit Clock(ClockSource source);

 private:
  ClockSource source_;
  double ns_per_tick_ = 1.0;
  double overhead_ns_ = 0;
  double resolution_ns_ = 0;
  std::uint64_t base_ticks_ = 0;
  std::uint64_t base_ns_ = 0;
};

/// Return the best source of this machine. A TSC qualifies only if the CPU declares it invariant (CPUID 80000007H EDX[8]).
ClockSource best_clock_source();

}  // namespace dpubench::measure
