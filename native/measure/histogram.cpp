#include "measure/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace dpubench::measure {

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  total_ += other.total_;
  sum_ns_ += other.sum_ns_;
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

void Histogram::clear() noexcept {
  std::fill(counts_.begin(), counts_.end(), 0);
  total_ = 0;
  max_ns_ = 0;
  sum_ns_ = 0;
}

std::uint64_t Histogram::percentile_ns(double percent) const {
  if (total_ == 0) return 0;
  const double wanted = std::ceil(percent / 100 * static_cast<double>(total_));
  const std::uint64_t rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, total_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::min(largest_of(i), max_ns_);
  }
  return max_ns_;
}

nlohmann::json Histogram::json() const {
  nlohmann::json buckets = nlohmann::json::array();
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) buckets.push_back({std::min(largest_of(i), max_ns_), counts_[i]});
  }
  return {{"p50", percentile_ns(50)}, {"p90", percentile_ns(90)}, {"p99", percentile_ns(99)},     {"p99_9", percentile_ns(99.9)},
          {"max", max_ns_},           {"mean", mean_ns()},        {"buckets", std::move(buckets)}};
}

}  // namespace dpubench::measure
