#include "measure/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "inputs/random.hpp"

namespace dpubench::measure {
namespace {

TEST(Histogram, BucketsMeetWithoutGapOrOverlap) {
  std::uint64_t first = 0;
  const std::size_t last = Histogram::index_of(~std::uint64_t{0});
  for (std::size_t i = 0; i <= last; ++i) {
    ASSERT_EQ(Histogram::index_of(first), i);
    const std::uint64_t largest = Histogram::largest_of(i);
    ASSERT_EQ(Histogram::index_of(largest), i);
    ASSERT_LE(static_cast<double>(largest - first), static_cast<double>(first) / 128);
    first = largest + 1;
  }
  EXPECT_EQ(first, 0U) << "the last bucket ends where 64 bits do";
}

TEST(Histogram, TheShortWayToABucketEndsInTheSameOne) {
  inputs::Random random(6);
  const std::uint64_t most = (std::uint64_t{1} << 53) - 1;
  for (std::uint64_t ns = 0; ns < 100'000; ++ns) ASSERT_EQ(Histogram::index_below_2_53(ns), Histogram::index_of(ns)) << ns;
  for (std::size_t i = 0; i <= Histogram::index_of(most); ++i) {
    const std::uint64_t ns = std::min(Histogram::largest_of(i), most);
    ASSERT_EQ(Histogram::index_below_2_53(ns), i);
    ASSERT_EQ(Histogram::index_below_2_53(ns - ns % 97), Histogram::index_of(ns - ns % 97));
  }
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t ns = random.next() & most;
    ASSERT_EQ(Histogram::index_below_2_53(ns), Histogram::index_of(ns)) << ns;
  }
}

TEST(Histogram, SmallTimesAreExact) {
  Histogram histogram;
  for (std::uint64_t ns = 1; ns <= 200; ++ns) histogram.record(ns);
  EXPECT_EQ(histogram.percentile_ns(50), 100U);
  EXPECT_EQ(histogram.percentile_ns(99), 198U);
  EXPECT_EQ(histogram.percentile_ns(100), 200U);
  EXPECT_EQ(histogram.percentile_ns(0), 1U);
  EXPECT_DOUBLE_EQ(histogram.mean_ns(), 100.5);
}

TEST(Histogram, PercentilesOfEverySizeAreWithinOnePercentAndNeverBelow) {
  inputs::Random random(7);
  Histogram histogram;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    // Log-uniform from 1 ns to 10 hours.
    values.push_back(static_cast<std::uint64_t>(std::exp(random.uniform() * std::log(3.6e13))));
    histogram.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {0.1, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(values.size())));
    const std::uint64_t exact = values[rank - 1];
    EXPECT_GE(histogram.percentile_ns(percent), exact) << percent;
    EXPECT_LE(static_cast<double>(histogram.percentile_ns(percent)), 1.01 * static_cast<double>(exact)) << percent;
  }
  EXPECT_EQ(histogram.max_ns(), values.back());
  EXPECT_EQ(histogram.percentile_ns(100), values.back());
}

TEST(Histogram, MergedIsTheSameAsRecordedTogether) {
  inputs::Random random(8);
  Histogram together, left, right;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t ns = random.below(1'000'000);
    const std::uint64_t times = 1 + random.below(3);
    together.record(ns, times);
    (i % 3 == 0 ? left : right).record(ns, times);
  }
  left.merge(right);
  EXPECT_EQ(left.json(), together.json());
  EXPECT_EQ(left.count(), together.count());
  left.clear();
  EXPECT_EQ(left.json(), Histogram().json());
}

TEST(Histogram, AgesOfManyTimesAreTheSameAsEachRecorded) {
  inputs::Random random(9);
  Histogram many, each;
  std::vector<std::uint64_t> times(64);
  for (int burst = 0; burst < 1000; ++burst) {
    std::uint64_t now = 1'000'000'000;
    for (std::uint64_t& time : times) time = now - random.below(burst % 2 == 0 ? 500 : 2'000'000);
    std::sort(times.begin(), times.end());
    const auto n = static_cast<std::uint32_t>(random.below(times.size() + 1));
    many.record_since(now, times.data(), n);
    for (std::uint32_t i = 0; i < n; ++i) each.record(now - times[i]);
  }
  EXPECT_EQ(many.count(), each.count());
  EXPECT_EQ(many.json(), each.json());
}

TEST(Histogram, JsonHoldsEveryCount) {
  Histogram histogram;
  EXPECT_EQ(histogram.json()["p99_9"], 0);
  EXPECT_EQ(histogram.json()["mean"], 0);
  EXPECT_TRUE(histogram.json()["buckets"].empty());
  histogram.record(5, 2);
  histogram.record(1000);
  histogram.record(~std::uint64_t{0});
  const nlohmann::json json = histogram.json();
  EXPECT_EQ(json["buckets"], nlohmann::json::parse("[[5,2],[1003,1],[18446744073709551615,1]]"));
  EXPECT_EQ(json["p50"], 5);
  EXPECT_EQ(json["max"], ~std::uint64_t{0});
}

}  // namespace
}  // namespace dpubench::measure
