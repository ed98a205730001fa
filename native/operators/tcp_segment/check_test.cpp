// Tests of tcp_segment: check() finds every changed bit, flags move as RFC 9293 and RFC 3168 demand, odd sizes, and option
// lengths.

#include <gtest/gtest.h>

#include "operators/support/testing/tampering.hpp"
#include "operators/tcp_segment/packet.hpp"

namespace dpubench {
namespace {

TEST(TcpSegment, CheckFindsTampering) {
  for (const char* version : {"4", "6"}) {
    for (const char* variant : {"copy", "zero_copy"}) {
      test::expect_tampering_found("tcp_segment", {{"ip_version", version}, {"variant", variant}, {"size", "4001"}});
    }
  }
}

TEST(TcpSegment, FlagsOfEachPacket) {
  using tcp_segment::flags_of;
  constexpr std::byte kAll{0x99};  // CWR, ACK, PSH, FIN
  EXPECT_EQ(flags_of(kAll, 0, 3), std::byte{0x90});
  EXPECT_EQ(flags_of(kAll, 1, 3), std::byte{0x10});
  EXPECT_EQ(flags_of(kAll, 2, 3), std::byte{0x19});
  EXPECT_EQ(flags_of(kAll, 0, 1), kAll);
}

TEST(TcpSegment, LayoutRejectsWhatIsNoWholePacket) {
  std::vector<std::byte> packet(100);
  packet[0] = std::byte{0x45};
  packet[3] = std::byte{100};
  packet[9] = std::byte{6};
  packet[32] = std::byte{0x50};
  const auto packets = [&](std::size_t mtu, std::size_t length) {
    return tcp_segment::layout(true, mtu, packet.data(), length).packets;
  };
  EXPECT_EQ(packets(1500, 100), 1U);
  EXPECT_EQ(packets(100, 100), 1U);
  EXPECT_EQ(packets(99, 100), 2U);
  EXPECT_EQ(packets(41, 100), 60U);
  EXPECT_EQ(packets(40, 100), 0U) << "no room for payload";
  EXPECT_EQ(packets(1500, 99), 0U) << "not the length that its header says";
  EXPECT_EQ(packets(1500, 39), 0U) << "shorter than its headers";
  packet[32] = std::byte{0xf0};
  EXPECT_EQ(packets(1500, 100), 1U) << "40 bytes of TCP options";
  packet[32] = std::byte{0x40};
  EXPECT_EQ(packets(1500, 100), 0U) << "TCP header below 20 bytes";
  packet[32] = std::byte{0x50};
  packet[0] = std::byte{0x46};
  EXPECT_EQ(packets(1500, 100), 0U) << "IPv4 options";
}

TEST(TcpSegment, Ipv6NeedsItsLeastMtu) {
  const Operator* const op = find_operator("tcp_segment");
  ASSERT_NE(op, nullptr);
  EXPECT_THROW(static_cast<void>(op->complete({{"ip_version", "6"}, {"mtu", "576"}})), Error);
  EXPECT_NO_THROW(static_cast<void>(op->complete({{"ip_version", "4"}, {"mtu", "576"}})));
}

}  // namespace
}  // namespace dpubench
