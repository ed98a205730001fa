// Times in a histogram of high dynamic range: buckets are 1 ns wide up to 256 ns, and from there on 128 in each power of two.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace dpubench::measure {

/// Log-linear histogram of nanoseconds over the whole range of 64 bits (the layout of Tene's HdrHistogram). What it says of a
/// percentile is never below the recorded value and less than 1/128 (0.78 %) above it; maximum and mean are exact.
class Histogram {
 public:
  static constexpr unsigned kExactBits = 8;  ///< values of so many bits have a bucket each

  Histogram() : counts_(index_of(~std::uint64_t{0}) + 1) {}

  void record(std::uint64_t ns, std::uint64_t times = 1) noexcept {
    counts_[index_of(ns)] += times;
    total_ += times;
    sum_ns_ += static_cast<double>(ns) * static_cast<double>(times);
    max_ns_ = ns > max_ns_ ? ns : max_ns_;
  }
  void merge(const Histogram& other) noexcept;
  void clear() noexcept;

  [[nodiscard]] std::uint64_t count() const { return total_; }
  [[nodiscard]] std::uint64_t max_ns() const { return max_ns_; }
  /// 0 when nothing was recorded, as all that follow.
  [[nodiscard]] double mean_ns() const { return total_ == 0 ? 0 : sum_ns_ / static_cast<double>(total_); }
  /// The least time that at least `percent` of the recorded values do not exceed (nearest rank). @param percent from 0 to 100
  [[nodiscard]] std::uint64_t percentile_ns(double percent) const;
  /// {p50, p90, p99, p99_9, max, mean, buckets [[largest ns of the bucket, count]...]}, buckets that hold something only.
  [[nodiscard]] nlohmann::json json() const;

  /// The bucket of a time, and the largest time in a bucket.
  static constexpr std::size_t index_of(std::uint64_t ns) noexcept {
    const unsigned width = static_cast<unsigned>(std::bit_width(ns));
    const unsigned shift = width > kExactBits ? width - kExactBits : 0;
    return (std::size_t{shift} << (kExactBits - 1)) + static_cast<std::size_t>(ns >> shift);
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
