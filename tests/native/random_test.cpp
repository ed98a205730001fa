#include "inputs/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace dpubench::inputs {
namespace {

/// Chi-square of counts against expected shares.
double chi_square(const std::vector<std::uint64_t>& counts, const std::vector<double>& shares, double draws) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = shares[i] * draws;
    sum += (static_cast<double>(counts[i]) - expected) * (static_cast<double>(counts[i]) - expected) / expected;
  }
  return sum;
}

/// Above this a chi-square of `freedom` degrees is one in a thousand (Wilson and Hilferty 1931); seeds are fixed, so a test
/// either always passes or never.
double limit(double freedom) {
  const double z = 3.09;
  const double v = 2 / (9 * freedom);
  return freedom * std::pow(1 - v + z * std::sqrt(v), 3);
}

// First outputs for seed 1, computed with an independent implementation of the published algorithm (in Python).
TEST(Random, IsXoshiro256StarStarSeededBySplitmix64) {
  Random random(1);
  EXPECT_EQ(random.next(), 0xb3f2af6d0fc710c5U);
  EXPECT_EQ(random.next(), 0x853b559647364ceaU);
  for (int i = 0; i < 997; ++i) random.next();
  EXPECT_EQ(random.next(), 0xb8517c33c344d153U);
}

TEST(Random, BelowIsUniform) {
  Random random(2);
  constexpr std::uint64_t kBound = 100;
  constexpr int kDraws = 200'000;
  std::vector<std::uint64_t> counts(kBound);
  for (int i = 0; i < kDraws; ++i) ++counts[random.below(kBound)];
  EXPECT_LT(chi_square(counts, std::vector<double>(kBound, 1.0 / kBound), kDraws), limit(kBound - 1));
}

TEST(Random, BelowHasNoModuloBias) {
  // With a bound of 3/4 of the range, reduction by modulo would give the lower third twice as often as the others.
  Random random(3);
  constexpr std::uint64_t kThird = std::uint64_t{1} << 62;
  constexpr int kDraws = 30'000;
  std::vector<std::uint64_t> counts(3);
  for (int i = 0; i < kDraws; ++i) ++counts[random.below(3 * kThird) / kThird];
  EXPECT_LT(chi_square(counts, {1.0 / 3, 1.0 / 3, 1.0 / 3}, kDraws), limit(2));
}

TEST(Random, BelowOneIsZeroAndZeroIsRefused) {
  Random random(4);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0U);
  EXPECT_THROW(random.below(0), std::invalid_argument);
}

TEST(Random, UniformFillsTheUnitInterval) {
  Random random(5);
  constexpr int kDraws = 100'000;
  std::vector<std::uint64_t> counts(50);
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++counts[static_cast<std::size_t>(u * 50)];
  }
  EXPECT_LT(chi_square(counts, std::vector<double>(50, 0.02), kDraws), limit(49));
}

TEST(Random, FillWritesWordsLeastSignificantByteFirst) {
  Random words(6);
  const std::uint64_t first = words.next();
  const std::uint64_t second = words.next();
  std::vector<std::byte> bytes(13);
  Random(6).fill(bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t word = i < 8 ? first : second;
    EXPECT_EQ(bytes[i], static_cast<std::byte>(word >> 8 * (i % 8) & 0xffU));
  }
}

class ZipfTest : public testing::TestWithParam<double> {};

TEST_P(ZipfTest, RanksFollowTheLaw) {
  constexpr std::uint64_t kRanks = 200;
  constexpr int kDraws = 200'000;
  const double s = GetParam();
  std::vector<double> shares(kRanks);
  double sum = 0;
  for (std::size_t k = 0; k < kRanks; ++k) sum += shares[k] = std::pow(static_cast<double>(k + 1), -s);
  for (double& share : shares) share /= sum;
  Random random(7);
  const Zipf zipf(kRanks, s);
  std::vector<std::uint64_t> counts(kRanks);
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t rank = zipf(random);
    ASSERT_LT(rank, kRanks);
    ++counts[rank];
  }
  // Ranks that are expected fewer than ten times are taken together: chi-square is no use on them.
  std::vector<std::uint64_t> pooled_counts;
  std::vector<double> pooled_shares;
  std::uint64_t rest = 0;
  double rest_share = 0;
  for (std::size_t k = 0; k < kRanks; ++k) {
    if (shares[k] * kDraws >= 10) {
      pooled_counts.push_back(counts[k]);
      pooled_shares.push_back(shares[k]);
    } else {
      rest += counts[k];
      rest_share += shares[k];
    }
  }
  if (rest_share > 0) {
    pooled_counts.push_back(rest);
    pooled_shares.push_back(rest_share);
  }
  EXPECT_LT(chi_square(pooled_counts, pooled_shares, kDraws), limit(static_cast<double>(pooled_counts.size() - 1)));
}

INSTANTIATE_TEST_SUITE_P(Exponents, ZipfTest, testing::Values(0.2, 0.8, 1.0, 1.0 + 1e-12, 1.2, 3.0));

TEST(Zipf, OneRankAndHugeRankCounts) {
  Random random(8);
  const Zipf one(1, 1.0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one(random), 0U);
  constexpr std::uint64_t kMany = std::uint64_t{1} << 40;
  const Zipf many(kMany, 0.9);
  bool is_large_seen = false;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t rank = many(random);
    ASSERT_LT(rank, kMany);
    is_large_seen |= rank > kMany / 2;
  }
  EXPECT_TRUE(is_large_seen);
}

TEST(Zipf, RefusesImpossibleParameters) {
  EXPECT_THROW(Zipf(0, 1.0), std::invalid_argument);
  EXPECT_THROW(Zipf(5, 0.0), std::invalid_argument);
  EXPECT_THROW(Zipf(5, std::nan("")), std::invalid_argument);
  EXPECT_THROW(Zipf(5, INFINITY), std::invalid_argument);
}

}  // namespace
}  // namespace dpubench::inputs
