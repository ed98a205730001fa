// ip_fragment: its check() finds every changed bit; what must not be fragmented is rejected.

#include <gtest/gtest.h>

#include "operators/ip_fragment/packet.hpp"
#include "operators/support/tampering.hpp"

namespace dpubench {
namespace {

TEST(IpFragment, CheckFindsTampering) {
  for (const char* version : {"4", "6"}) {
    for (const char* variant : {"copy", "zero_copy"}) {
      test::expect_tampering_found("ip_fragment", {{"ip_version", version}, {"variant", variant}, {"size", "4001"}});
    }
  }
}

TEST(IpFragment, OnlyCopiesHaveARateOfBytes) {
  const Operator* const op = find_operator("ip_fragment");
  ASSERT_NE(op, nullptr);
  Work work;
  const Operator::WindowTotals totals{.operations = 2, .in_bytes = 2000, .out_bytes = 2100, .result_sum = 4};
  work.params = op->complete({{"variant", "copy"}});
  EXPECT_EQ(op->rate_bytes(work, totals), 2000U);
  work.params = op->complete({{"variant", "zero_copy"}});
  EXPECT_EQ(op->rate_bytes(work, totals), 0U);
}

TEST(IpFragment, LayoutCountsAndRejects) {
  std::vector<std::byte> packet(1020);
  packet[0] = std::byte{0x45};
  packet[2] = std::byte{0x03};
  packet[3] = std::byte{0xfc};
  const auto packets = [&](std::size_t mtu) { return ip_fragment::layout(true, mtu, packet.data(), packet.size()).packets; };
  EXPECT_EQ(packets(1020), 1U);
  EXPECT_EQ(packets(1019), 2U);
  EXPECT_EQ(packets(519), 3U) << "496 + 496 + 8";
  EXPECT_EQ(packets(28), 125U);
  EXPECT_EQ(packets(27), 0U) << "no room for one unit";
  packet[6] = std::byte{0x40};
  EXPECT_EQ(packets(1020), 1U) << "DF, fits";
  EXPECT_EQ(packets(1019), 0U) << "DF, too long";
  packet[6] = std::byte{0};
  packet[3] = std::byte{0xfd};
  EXPECT_EQ(packets(1500), 0U) << "not the length that its header says";
}

}  // namespace
}  // namespace dpubench
