// A histogram of times with a high dynamic range. Buckets are 1 ns wide up to 256 ns; above, each power of two has 128 buckets.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace dpubench::measure {

/// A log-linear histogram of nanoseconds over the whole range of 64 bits (the layout of Tene's HdrHistogram). A percentile is
/// never below the recorded value and less than 1/128 (0.78 %) above it. Maximum and mean are exact.
class Histogram {
 public:
  static constexpr unsigned kExactBits = 8;  ///< values of at most this many bits have a bucket each

  Histogram() : counts_(index_of(~std::uint64_t{0}) + 1) {}

  void record(std::uint64_t ns, std::uint64_t times = 1) noexcept {
    counts_[index_of(ns)] += times;
    total_ += times;
    sum_ns_ += static_cast<double>(ns) * static_cast<double>(times);
    max_ns_ = ns > max_ns_ ? ns : max_ns_;
  }
  /// Record the ages at `now_ns` of `n` ascending times. The first one is the oldest, and must be younger than 104 days.
  void record_since(std::uint64_t now_ns, const std::uint64_t* times_ns, std::uint32_t n) noexcept {
    if (n == 0) return;
    std::uint64_t* const counts = counts_.data();
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint64_t ns = now_ns - times_ns[i];
      ++counts[index_below_2_53(ns)];
      sum += ns;
    }
    total_ += n;
    sum_ns_ += static_cast<double>(sum);
    max_ns_ = std::max(max_ns_, now_ns - times_ns[0]);
  }
  void merge(const Histogram& other) noexcept;
  void clear() noexcept;

  [[nodiscard]] std::uint64_t count() const { return total_; }
  [[nodiscard]] std::uint64_t max_ns() const { return max_ns_; }
  /// Return the mean. This and the functions below return 0 when nothing was recorded.
  [[nodiscard]] double mean_ns() const { return total_ == 0 ? 0 : sum_ns_ / static_cast<double>(total_); }
  /// Return the least time that at least `percent` of the recorded values do not exceed (nearest rank).
  /// @param percent from 0 to 100
  [[nodiscard]] std::uint64_t percentile_ns(double percent) const;
  /// Return {p50, p90, p99, p99_9, max, mean, buckets [[largest ns of the bucket, count]...]} with only the buckets in use.
  [[nodiscard]] nlohmann::json json() const;

  /// Return the bucket of a time. largest_of() returns the largest time in a bucket.
  static constexpr std::size_t index_of(std::uint64_t ns) noexcept {
    const unsigned width = static_cast<unsigned>(std::bit_width(ns));
    const unsigned shift = width > kExactBits ? width - kExactBits : 0;
    return (std::size_t{shift} << (kExactBits - 1)) + static_cast<std::size_t>(ns >> shift);
  }
  /// Return the same for times below 2^53 ns, in two thirds of the time: a double's exponent and first bits select the bucket.
  static constexpr std::size_t index_below_2_53(std::uint64_t ns) noexcept {
    constexpr unsigned kMantissaBits = 52;
    constexpr std::uint64_t kExponentBias = 1023;
    constexpr std::uint64_t kLeast = (kExponentBias + kExactBits - 2) << (kExactBits - 1);
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(ns)));
    const std::uint64_t index = (bits >> (kMantissaBits - kExactBits + 1)) - kLeast;
    return static_cast<std::size_t>(ns < std::uint64_t{1} << (kExactBits - 1) ? ns : index);
  }
  static constexpr std::uint64_t largest_of(std::size_t index) noexcept {
    if (index < std::size_t{1} << kExactBits) return index;
    const std::size_t shift = (index >> (kExactBits - 1)) - 1;
    const std::uint64_t lead = index - (shift << (kExactBits - 1));
    return (lead << shift) + ((std::uint64_t{1} << shift) - 1);
  }

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t max_ns_ = 0;
  double sum_ns_ = 0;
};

}  // namespace dpubench::measure
