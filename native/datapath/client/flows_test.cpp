#include "datapath/client/flows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

namespace dpubench::datapath {
namespace {

/// Return source, destination and destination port, without the source port and the protocol: the fields of the paper's key.
std::string paper_key(const inputs::Flow& flow) {
  std::string key(flow.source.begin(), flow.source.end());
  key.append(flow.destination.begin(), flow.destination.end());
  return key + static_cast<char>(flow.destination_port >> 8) + static_cast<char>(flow.destination_port & 0xff);
}

TEST(FlowSpace, AMillionFlowsAreDistinctAndFoundAgain) {
  const FlowSpace space(42);
  for (const std::uint8_t version : {std::uint8_t{4}, std::uint8_t{6}}) {
    std::vector<std::string> keys;
    for (std::uint32_t flow = 0; flow < 1'000'000; ++flow) {
      const inputs::Flow tuple = space.tuple(flow, version, 17);
      keys.push_back(paper_key(tuple));
      ASSERT_EQ(space.find_addresses(tuple), flow);
      ASSERT_GE(tuple.source_port, 1024);
      ASSERT_GE(tuple.destination_port, 1);
      ASSERT_LT(tuple.destination_port, 49152);
    }
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end()) << "IPv" << int{version};
  }
}

TEST(FlowSpace, AddressesAreThoseForBenchmarks) {
  const inputs::Flow four = FlowSpace(1).tuple(77, 4, 6);
  EXPECT_EQ(four.source[0], 198);
  EXPECT_EQ(four.source[1], 18);
  EXPECT_EQ(four.destination[1], 19);
  const inputs::Flow six = FlowSpace(1).tuple(77, 6, 6);
  EXPECT_EQ(six.source[0], 0x20);
  EXPECT_EQ(six.destination[3], 0x02);
}

TEST(FlowSpace, SeedsDiffer) {
  EXPECT_EQ(FlowSpace(1).tuple(5, 4, 6).source, FlowSpace(1).tuple(5, 4, 6).source);
  EXPECT_NE(FlowSpace(1).place(5), FlowSpace(2).place(5));
}

TEST(FlowOrder, UniformHasEveryFlowEquallyOften) {
  for (const std::uint32_t flows : {1U, 2U, 3U, 1000U, 100'000U}) {
    inputs::Random random(9);
    const auto order = draw_flow_order(flows, 0, random);
    std::vector<std::uint32_t> counts(flows);
    for (const std::uint32_t flow : order) ++counts.at(flow);
    EXPECT_EQ(*std::min_element(counts.begin(), counts.end()), order.size() / flows) << flows;
    EXPECT_EQ(*std::max_element(counts.begin(), counts.end()), order.size() / flows) << flows;
    EXPECT_TRUE(flows < 10 || !std::is_sorted(order.begin(), order.begin() + flows)) << flows;
  }
}

TEST(FlowOrder, ZipfSharesFallWithTheRank) {
  inputs::Random random(9);
  const auto order = draw_flow_order(1000, 1.0, random);
  std::vector<double> counts(1000);
  for (const std::uint32_t flow : order) ++counts.at(flow);
  double harmonic = 0;
  for (int i = 1; i <= 1000; ++i) harmonic += 1.0 / i;
  for (const std::size_t rank : {0U, 1U, 9U}) {
    const double expected = static_cast<double>(order.size()) / (static_cast<double>(rank + 1) * harmonic);
    EXPECT_NEAR(counts[rank], expected, 5 * std::sqrt(expected)) << rank;
  }
}

TEST(Churn, ReplacesSlotsInTurnAndNeverBringsAFlowBack) {
  Churn churn(4, 1e9);  // one a nanosecond
  std::set<std::uint32_t> known = {0, 1, 2, 3};
  std::map<std::uint32_t, std::uint32_t> now = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  for (std::uint64_t ns = 0; ns <= 40; ++ns) {
    churn.advance(ns);
    std::size_t changed = 0;
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
      const std::uint32_t flow = churn.flow_of(slot);
      EXPECT_EQ(flow % 4, slot);
      if (flow != now[slot]) {
        ++changed;
        EXPECT_TRUE(known.insert(flow).second) << flow;
        now[slot] = flow;
      }
    }
    EXPECT_EQ(changed, ns == 0 ? 0U : 1U);
    EXPECT_EQ(churn.flows(), 4 + ns);
    EXPECT_EQ(known.size(), 4 + ns);
  }
  Churn still(4, 0);
  still.advance(1'000'000'000'000);
  EXPECT_EQ(still.flow_of(3), 3U);
}

}  // namespace
}  // namespace dpubench::datapath
