#include "inputs/capture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "capture_builder.hpp"
#include "expect_error.hpp"
#include "packet/ip.hpp"
#include "shared_data.hpp"
#include "temporary_directory.hpp"

namespace dpubench::inputs {
namespace {

using namespace test;
using Frame = std::vector<std::byte>;

const Frame kV4 = ipv4(17, udp());
const Frame kV6 = ipv6(6, tcp());
const std::string kMacs(24, '0');

Frame bytes_of(const Capture& capture, std::size_t i) {
  const auto ip = capture.ip(capture.packets.at(i));
  return {ip.begin(), ip.end()};
}

Frame prefix_of(const Frame& whole, std::size_t length) {
  return {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)};
}

/// A link-layer frame and what must be found in it.
struct LinkCase {
  std::string name;
  std::uint32_t link;
  Frame frame;
  Frame expected;  ///< empty: no IP
};

class LinkTest : public testing::TestWithParam<LinkCase> {};

TEST_P(LinkTest, FindsTheIpPacket) {
  const LinkCase& c = GetParam();
  const Capture capture = parse_capture(pcap(c.link, {c.frame}), c.name);
  EXPECT_EQ(capture.malformed, 0U);
  EXPECT_FALSE(capture.truncated);
  if (c.expected.empty()) {
    EXPECT_EQ(capture.non_ip, 1U);
    EXPECT_TRUE(capture.packets.empty());
    return;
  }
  ASSERT_EQ(capture.packets.size(), 1U);
  EXPECT_EQ(bytes_of(capture, 0), c.expected);
  EXPECT_EQ(capture.packets[0].version, std::to_integer<unsigned>(c.expected[0]) >> 4);
  EXPECT_EQ(capture.packets[0].frame_length, c.frame.size());
}

TEST_P(LinkTest, EveryCutIsMalformedOrShorterAndNeverMore) {
  const LinkCase& c = GetParam();
  for (std::size_t length = 0; length < c.frame.size(); ++length) {
    const Frame cut = prefix_of(c.frame, length);
    const Capture capture = parse_capture(pcap(c.link, {cut}), c.name);
    ASSERT_EQ(capture.packets.size() + capture.non_ip + capture.malformed, 1U) << length;
    if (capture.packets.empty() || c.expected.empty()) continue;
    const Frame found = bytes_of(capture, 0);
    ASSERT_LE(found.size(), c.expected.size());
    ASSERT_TRUE(std::equal(found.begin(), found.end(), c.expected.begin())) << length;
  }
}

const std::string kSnap4 = "aaaa03 000000 0800";
const std::string kData = "0800" + std::string(44, '0');

Frame with(const std::string& header, const Frame& ip) {
  return join(hex(header), ip);
}

INSTANTIATE_TEST_SUITE_P(
    LinkTypes, LinkTest,
    testing::Values(
        LinkCase{"null_little_endian", 0, with("02000000", kV4), kV4}, LinkCase{"null_big_endian", 0, with("00000002", kV4), kV4},
        LinkCase{"null_linux_v6", 0, with("0a000000", kV6), kV6}, LinkCase{"null_windows_v6", 0, with("17000000", kV6), kV6},
        LinkCase{"null_netbsd_v6", 0, with("18000000", kV6), kV6}, LinkCase{"null_freebsd_v6", 0, with("1c000000", kV6), kV6},
        LinkCase{"null_darwin_v6", 0, with("1e000000", kV6), kV6}, LinkCase{"null_appletalk", 0, with("10000000", kV4), {}},
        LinkCase{"loop", 108, with("00000002", kV4), kV4}, LinkCase{"ethernet_v4", 1, with(kMacs + "0800", kV4), kV4},
        LinkCase{"ethernet_v6", 1, with(kMacs + "86dd", kV6), kV6},
        LinkCase{"ethernet_padding", 1, join(with(kMacs + "0800", kV4), Frame(14)), kV4},
        LinkCase{"ethernet_v6_padding", 1, join(with(kMacs + "86dd", kV6), Frame(4)), kV6},
        LinkCase{"arp", 1, with(kMacs + "0806", Frame(28)), {}}, LinkCase{"vlan", 1, with(kMacs + "8100 0001 0800", kV4), kV4},
        LinkCase{"three_vlans", 1, with(kMacs + "9100 0001 88a8 0002 8100 0003 86dd", kV6), kV6},
        LinkCase{"vlan_llc", 1, with(kMacs + "8100 0001 0028" + kSnap4, kV4), kV4},
        LinkCase{"mpls", 1, with(kMacs + "8847 00010040 00020140", kV4), kV4},
        LinkCase{"mpls_multicast", 1, with(kMacs + "8848 00020140", kV6), kV6},
        LinkCase{"mpls_pseudowire", 1, with(kMacs + "8847 00020140 00000000", Frame(30)), {}},
        LinkCase{"pppoe", 1, join(with(kMacs + "8864 1100 0001 0022 0021", kV4), Frame(6)), kV4},
        LinkCase{"pppoe_discovery", 1, with(kMacs + "8864 1109 0001 0000", {}), {}},
        LinkCase{"vlan_pppoe_v6", 1, with(kMacs + "8100 0005 8864 1100 0001 0046 0057", kV6), kV6},
        LinkCase{"snap", 1, with(kMacs + "0028" + kSnap4, kV4), kV4},
        LinkCase{"snap_padding", 1, join(with(kMacs + "0028" + kSnap4, kV4), Frame(9)), kV4},
        LinkCase{"snap_bridge_tunnel", 1, with(kMacs + "0028 aaaa03 0000f8 0800", kV4), kV4},
        LinkCase{"snap_of_another_organisation", 1, with(kMacs + "0028 aaaa03 00000c 0800", kV4), {}},
        LinkCase{"llc_ip", 1, with(kMacs + "0023 060603", kV4), kV4},
        LinkCase{"llc_bridge", 1, with(kMacs + "0026 424203", Frame(35)), {}},
        LinkCase{"llc_numbered", 1, with(kMacs + "0026 060600", kV4), {}},
        LinkCase{"ethernet_illegal_length", 1, with(kMacs + "05e0", kV4), {}},
        LinkCase{"token_ring", 6, with("1040 000000000000 000000000000" + kSnap4, kV4), kV4},
        LinkCase{"token_ring_source_routed", 6, with("1040 000000000000 800000000000 04000000" + kSnap4, kV4), kV4},
        LinkCase{"slip", 8, join(Frame(16), kV4), kV4}, LinkCase{"ppp", 9, with("ff03 0021", kV4), kV4},
        LinkCase{"ppp_compressed_address", 9, with("0057", kV6), kV6},
        LinkCase{"ppp_compressed_protocol", 9, with("21", kV4), kV4},
        LinkCase{"ppp_mpls", 9, with("ff03 0281 00020140", kV4), kV4}, LinkCase{"ppp_lcp", 9, with("ff03 c021", Frame(8)), {}},
        LinkCase{"fddi", 10, with("50" + kMacs + kSnap4, kV4), kV4}, LinkCase{"raw_12", 12, kV4, kV4},
        LinkCase{"raw_14", 14, kV6, kV6}, LinkCase{"raw_101", 101, kV6, kV6},
        LinkCase{"ppp_hdlc", 50, with("ff03 0021", kV4), kV4}, LinkCase{"ppp_hdlc_cisco", 50, with("8f00 0800", kV4), kV4},
        LinkCase{"ppp_ether", 51, with("1100 0001 0022 0021", kV4), kV4}, LinkCase{"atm", 100, with(kSnap4, kV4), kV4},
        LinkCase{"cisco_hdlc", 104, with("0f00 86dd", kV6), kV6},
        LinkCase{"cisco_hdlc_keepalive", 104, with("8f00 8035", Frame(18)), {}},
        LinkCase{"wlan", 105, with(kData + kSnap4, kV4), kV4},
        LinkCase{"wlan_qos", 105, with("8801" + std::string(44, '0') + "0000" + kSnap4, kV4), kV4},
        LinkCase{"wlan_qos_bridge_ht", 105, with("8883" + std::string(56, '0') + "0000 00000000" + kSnap4, kV4), kV4},
        LinkCase{"wlan_beacon", 105, with("8000", Frame(60)), {}}, LinkCase{"wlan_null", 105, with("4800", Frame(22)), {}},
        LinkCase{"wlan_encrypted", 105, with("0840", Frame(60)), {}},
        LinkCase{"wlan_aggregate", 105, with("8801" + std::string(44, '0') + "8000", Frame(60)), {}},
        LinkCase{"wlan_second_fragment", 105, with("0800" + std::string(40, '0') + "0100", Frame(60)), {}},
        LinkCase{"frame_relay", 107, with("1841 03 cc", kV4), kV4},
        LinkCase{"frame_relay_long_address", 107, with("18404001 03 8e", kV6), kV6},
        LinkCase{"frame_relay_snap", 107, with("1841 03 00 80 000000 0800", kV4), kV4},
        LinkCase{"frame_relay_cisco", 107, with("1841 0800", kV4), kV4},
        LinkCase{"frame_relay_lmi", 107, with("0001 03 08", Frame(8)), {}},
        LinkCase{"enc", 109, with("02000000 00000000 00000000", kV4), kV4},
        LinkCase{"sll", 113, with(std::string(28, '0') + "0800", kV4), kV4},
        LinkCase{"sll_vlan", 113, with(std::string(28, '0') + "8100 0001 86dd", kV6), kV6},
        LinkCase{"sll_llc", 113, with(std::string(28, '0') + "0004" + kSnap4, kV4), kV4},
        LinkCase{"sll_netlink", 113, with(std::string(28, '0') + "0001", Frame(30)), {}},
        LinkCase{"prism", 119, join(Frame(144), with(kData + kSnap4, kV4)), kV4},
        LinkCase{"fibre_channel", 122, join(Frame(16), with(kSnap4, kV4)), kV4},
        LinkCase{"radiotap", 127, with("00000800 00000000" + kData + kSnap4, kV4), kV4},
        LinkCase{"radiotap_two_present_words", 127, with("00000c00 00000080 00000000" + kData + kSnap4, kV4), kV4},
        LinkCase{"radiotap_padded_header", 127,
                 with("00001100 03000000 0000000000000000 20 8800" + std::string(44, '0') + "0000 0000" + kSnap4, kV4), kV4},
        LinkCase{"firewire", 138, join(Frame(16), with("0800", kV4)), kV4}, LinkCase{"pppd", 166, with("0003 0021", kV4), kV4},
        LinkCase{"ppi_wlan", 192, with("00000800 69000000" + kData + kSnap4, kV4), kV4},
        LinkCase{"ppp_with_direction", 204, with("01 ff03 0021", kV4), kV4},
        LinkCase{"mpls_link", 219, with("00020140", kV4), kV4}, LinkCase{"ipv4", 228, kV4, kV4}, LinkCase{"ipv6", 229, kV6, kV6},
        LinkCase{"netanalyzer", 240, with("00000000" + kMacs + "0800", kV4), kV4},
        LinkCase{"sll2", 276, with("86dd" + std::string(36, '0'), kV6), kV6},
        LinkCase{"sll2_llc", 276, with("0004" + std::string(36, '0') + kSnap4, kV4), kV4}, LinkCase{"unknown", 147, kV4, {}}),
    [](const auto& instance) { return instance.param.name; });

TEST(Capture, InconsistentHeadersAreMalformed) {
  const auto malformed = [](std::uint32_t link, const Frame& frame) {
    const Capture capture = parse_capture(pcap(link, {frame}), "t");
    EXPECT_EQ(capture.malformed, 1U);
    EXPECT_TRUE(capture.packets.empty());
  };
  malformed(228, kV6);
  malformed(1, with(kMacs + "86dd", kV4));
  malformed(101, hex("54000014"));
  Frame short_header = kV4;
  short_header[0] = std::byte{0x44};
  malformed(101, short_header);
  Frame long_header = ipv4(17, {});
  long_header[0] = std::byte{0x46};  // 24 bytes of header in a packet of 20
  malformed(101, long_header);
  Frame short_total = kV4;
  short_total[3] = std::byte{19};
  malformed(101, short_total);
}

TEST(Capture, LengthZeroReachesToTheEndOfTheFrame) {
  Frame v4 = kV4;
  v4[2] = v4[3] = std::byte{0};
  const Frame v6 = ipv6(6, tcp(), 0);
  const Frame nothing = join(ipv6(59, {}), Frame(6));  // no next header: truly empty, six bytes of padding
  const Capture capture = parse_capture(pcap(101, {v4, v6, nothing}), "t");
  ASSERT_EQ(capture.packets.size(), 3U);
  EXPECT_EQ(bytes_of(capture, 0), v4);
  EXPECT_EQ(bytes_of(capture, 1), v6);
  EXPECT_EQ(capture.packets[2].length, 40U);
}

TEST(Capture, JumbogramsTakeTheirLengthFromTheOption) {
  // RFC 2675: hop-by-hop header of 8 bytes with the jumbo option, then 65532 bytes of UDP: 65540 bytes of payload.
  Frame payload = hex("1100 c204 00010004 0400 0035 0000 0000");
  payload.resize(65540);
  const Frame jumbo = ipv6(0, payload, 0);
  Frame padded_option = hex("1101 00 01020000 c204 00010004 000000");
  padded_option.resize(65540);
  const Frame second = ipv6(0, padded_option, 0);
  const Capture capture = parse_capture(pcap(101, {join(jumbo, Frame(10)), join(second, Frame(3))}), "t");
  ASSERT_EQ(capture.packets.size(), 2U);
  EXPECT_EQ(capture.packets[0].length, 40U + 65540U);
  EXPECT_EQ(capture.packets[1].length, 40U + 65540U);
  packet::Transport transport;
  ASSERT_TRUE(packet::find_transport(capture.ip(capture.packets[0]), transport));
  EXPECT_EQ(transport.header, 48U);
  EXPECT_EQ(transport.end, 40U + 65540U);
}

TEST(Capture, PcapOfBothByteOrdersAndEveryMagic) {
  struct Magic {
    std::uint32_t magic;
    std::uint64_t fraction_ns;
  };
  for (const bool big : {false, true}) {
    for (const auto& [magic, fraction_ns] : {Magic{0xa1b2c3d4, 5000}, Magic{0xa1b23c4d, 5}, Magic{0xa1b2cd34, 5000}}) {
      const Capture capture = parse_capture(pcap(101, {kV4, kV6}, {magic, big}), "t");
      ASSERT_EQ(capture.packets.size(), 2U) << std::hex << magic;
      EXPECT_EQ(capture.packets[0].time_ns, 1'000'000'000'000'000'000U + fraction_ns);
      EXPECT_EQ(capture.packets[1].time_ns, 1'000'000'001'000'000'000U + fraction_ns);
      EXPECT_EQ(bytes_of(capture, 1), kV6);
    }
  }
}

TEST(Capture, FrameLengthLeavesTheFcsOut) {
  // Bits 28 to 31 of the link type: FCS of 2 words of 16 bits; bit 26: that field is valid.
  const Frame frame = join(with(kMacs + "0800", kV4), Frame(4));
  const Capture capture = parse_capture(pcap(0x24000001, {frame}), "t");
  ASSERT_EQ(capture.packets.size(), 1U);
  EXPECT_EQ(capture.packets[0].frame_length, frame.size() - 4);
}

TEST(Capture, AFileThatEndsInsideARecordKeepsWhatIsBefore) {
  const Frame whole = pcap(101, {kV4, kV6});
  for (std::size_t length = 24 + 16 + kV4.size() + 1; length < whole.size(); ++length) {
    const Capture capture = parse_capture(std::span(whole).first(length), "t");
    ASSERT_TRUE(capture.truncated) << length;
    ASSERT_EQ(capture.packets.size(), 1U) << length;
  }
  EXPECT_FALSE(parse_capture(whole, "t").truncated);
}

TEST(Capture, WhatIsNoCaptureIsRefusedWithTheRemedy) {
  expect_error([] { parse_capture({}, "c.pcap"); }, {"c.pcap, byte 0", "empty"});
  expect_error([] { parse_capture(hex("a1b2"), "c.pcap"); }, {"c.pcap, byte 0", "too short"});
  expect_error([] { parse_capture(hex("1f8b0800 00000000"), "c.pcap.gz"); }, {"gunzip -k c.pcap.gz"});
  expect_error([] { parse_capture(hex("736e6f6f70000000"), "c.snoop"); }, {"c.snoop, byte 0", "editcap -F pcap"});
  expect_error([] { parse_capture(prefix_of(pcap(1, {}), 23), "c"); }, {"c, byte 0", "header is cut off"});
  expect_error([] { parse_capture(hex("a1b2c3d4 0003 0000 00000000 00000000 0000ffff 00000001"), "c"); },
               {"byte 4", "version 3", "editcap"});
  expect_error([] { parse_capture(join(pcap(1, {}), hex("00000000 00000000 ffffffff ffffffff")), "c"); },
               {"byte 32", "4294967295 bytes", "damaged"});
  expect_error([] { parse_capture(prefix_of(section_header(true), 20), "c"); }, {"byte 0", "header is cut off"});
}

TEST(Capture, DamagedPcapngIsRefusedWithItsOffset) {
  const Frame start = section_header(false);
  const auto refused = [&](const std::string& blocks, std::string_view offset, std::string_view what) {
    expect_error([&] { parse_capture(join(start, hex(blocks)), "c"); }, {"capture c, byte ", offset, what});
  };
  refused("05000000 0a000000 0a000000", "byte 32:", "claims 10 bytes");
  refused("05000000 0d000000 00000000 00000000", "byte 32:", "claims 13 bytes");
  refused("05000000 fcffffff 00000000", "byte 32:", "claims 4294967292 bytes");
  refused("05000000 0c000000 10000000", "byte 36:", "differ");
  refused("0a0d0d0a 1c000000 00000000 00000000 00000000 00000000 1c000000", "byte 36:", "byte-order magic");
  refused("0a0d0d0a 1c000000 4d3c2b1a 02000000 ffffffff ffffffff 1c000000", "byte 40:", "version 2");
}

TEST(Capture, PcapngSectionsHaveTheirOwnOrderAndInterfaces) {
  Frame file;
  for (const bool big : {false, true}) {
    const Frame nanoseconds = Bytes(big).u16(9).u16(1).u8(9).zeros(3).u32(0).get();
    file = join(file, section_header(big));
    file = join(file, interface_block(big, 101, 0, nanoseconds));
    file = join(file, interface_block(big, 1, 0));
    file = join(file, block(big, 0x0bad, Frame(7)));  // an unknown block
    file = join(file, enhanced_packet(big, 0, 1'000'000'000'000'000'005, kV4));
    file = join(file, enhanced_packet(big, 1, 1'000'000'000'000'005, with(kMacs + "86dd", kV6)));
    file = join(file, enhanced_packet(big, 2, 0, kV4));  // no such interface
  }
  const Capture capture = parse_capture(file, "t");
  ASSERT_EQ(capture.packets.size(), 4U);
  EXPECT_EQ(capture.malformed, 2U);
  for (const std::size_t first : {0U, 2U}) {
    EXPECT_EQ(bytes_of(capture, first), kV4);
    EXPECT_EQ(capture.packets[first].time_ns, 1'000'000'000'000'000'005U);
    EXPECT_EQ(bytes_of(capture, first + 1), kV6);
    EXPECT_EQ(capture.packets[first + 1].time_ns, 1'000'000'000'000'005'000U);
  }
}

TEST(Capture, PcapngTimeResolutionsAndOffset) {
  const auto time_of = [](std::uint8_t resolution, std::uint64_t ticks, std::int64_t offset_s) {
    std::array<std::uint64_t, 2> times{};
    for (const bool big : {true, false}) {
      const Frame options =
          Bytes(big).u16(9).u16(1).u8(resolution).zeros(3).u16(14).u16(8).u64(static_cast<std::uint64_t>(offset_s)).u32(0).get();
      const Capture capture = parse_capture(
          join(join(section_header(big), interface_block(big, 101, 0, options)), enhanced_packet(big, 0, ticks, kV4)), "t");
      times[big ? 1 : 0] = capture.packets.at(0).time_ns;
    }
    EXPECT_EQ(times[0], times[1]) << "byte order";
    return times[0];
  };
  EXPECT_EQ(time_of(0, 7, 0), 7'000'000'000U);
  EXPECT_EQ(time_of(3, 7, 0), 7'000'000U);
  EXPECT_EQ(time_of(12, 7'999, 0), 7U);
  EXPECT_EQ(time_of(127, 7'999, 0), 0U);
  EXPECT_EQ(time_of(0x80 | 10, 1536, 0), 1'500'000'000U);
  EXPECT_EQ(time_of(0x80 | 127, ~std::uint64_t{0}, 0), 0U);
  EXPECT_EQ(time_of(6, 2'000'000, -1), 1'000'000'000U);
  EXPECT_EQ(time_of(6, 2'000'000, 3), 5'000'000'000U);
}

TEST(Capture, PcapngSimpleAndObsoletePacketBlocks) {
  const bool big = true;
  Frame file = join(section_header(big), interface_block(big, 101, 30));
  file = join(file, block(big, 3, join(Bytes(big).u32(kV4.size()).get(), Frame(kV4.begin(), kV4.begin() + 30))));
  file = join(file, block(big, 2, Bytes(big).u16(0).u16(9).u32(0).u32(5).u32(kV6.size()).u32(2000).add(kV6).get()));
  const Capture capture = parse_capture(file, "t");
  ASSERT_EQ(capture.packets.size(), 2U);
  EXPECT_EQ(capture.packets[0].length, 30U);  // the interface's snap length
  EXPECT_EQ(capture.packets[0].frame_length, kV4.size());
  EXPECT_EQ(capture.packets[0].time_ns, 0U);
  EXPECT_EQ(bytes_of(capture, 1), kV6);
  EXPECT_EQ(capture.packets[1].frame_length, 2000U);
  EXPECT_EQ(capture.packets[1].time_ns, 5000U);
}

TEST(Capture, PcapngBlocksTooShortForTheirKindAreMalformed) {
  const bool big = false;
  Frame file = section_header(big);
  file = join(file, block(big, 3, Bytes(big).u32(10).zeros(12).get()));  // no interface yet
  file = join(file, block(big, 1, {}));                                  // an interface of unknown link type
  for (const std::uint32_t type : {2U, 3U, 6U}) file = join(file, block(big, type, {}));
  file = join(file, block(big, 6, Bytes(big).u32(0).u32(0).u32(0).u32(999).u32(999).add(kV4).get()));  // longer than the block
  file = join(file, enhanced_packet(big, 0, 0, kV4));
  const Capture capture = parse_capture(file, "t");
  EXPECT_EQ(capture.malformed, 5U);
  EXPECT_EQ(capture.non_ip, 1U);
  EXPECT_TRUE(capture.packets.empty());
}

TEST(Capture, PcapngCutOffKeepsWhatIsBefore) {
  const Frame start = join(join(section_header(false), interface_block(false, 101, 0)), enhanced_packet(false, 0, 0, kV4));
  for (const Frame& last : {enhanced_packet(false, 0, 0, kV4), section_header(true)}) {
    const Frame whole = join(start, last);
    for (std::size_t length = start.size() + 1; length < whole.size(); ++length) {
      const Capture capture = parse_capture(std::span(whole).first(length), "t");
      ASSERT_TRUE(capture.truncated) << length;
      ASSERT_EQ(capture.packets.size(), 1U);
    }
  }
}

TEST(Capture, AppendShiftsOffsetsAndAddsCounts) {
  Capture all = parse_capture(pcap(101, {kV4}), "a");
  Capture other =
      parse_capture(pcap(1, {with(kMacs + "0800", kV4), with(kMacs + "86dd", kV6), with(kMacs + "0806", {}), Frame(3)}), "b");
  other.truncated = true;
  all.append(other);
  ASSERT_EQ(all.packets.size(), 3U);
  EXPECT_EQ(bytes_of(all, 0), kV4);
  EXPECT_EQ(bytes_of(all, 1), kV4);
  EXPECT_EQ(bytes_of(all, 2), kV6);
  EXPECT_EQ(all.non_ip, 1U);
  EXPECT_EQ(all.malformed, 1U);
  EXPECT_TRUE(all.truncated);
}

TEST(Capture, AFileWithoutIpIsRefused) {
  const TemporaryDirectory directory;
  const Frame arp = pcap(1, {with(kMacs + "0806", Frame(28)), Frame(3)});
  const auto path = directory.write("arp.pcap", {reinterpret_cast<const char*>(arp.data()), arp.size()});
  expect_error([&] { read_capture(path); }, {"arp.pcap: holds no IP packet", "1 frames without IP, 1 malformed"});
  expect_error([&] { read_capture(directory.path() / "none.pcap"); }, {"none.pcap", "No such file"});
}

TEST(Transport, UdpTcpSctpAndOptions) {
  packet::Transport t;
  ASSERT_TRUE(packet::find_transport(kV4, t));
  EXPECT_EQ(t.protocol, 17);
  EXPECT_EQ(t.header, 20U);
  EXPECT_EQ(t.payload, 28U);
  EXPECT_EQ(t.end, 32U);
  ASSERT_TRUE(packet::find_transport(kV6, t));
  EXPECT_EQ(t.protocol, 6);
  EXPECT_EQ(t.header, 40U);
  EXPECT_EQ(t.payload, 64U);  // with a word of TCP options
  ASSERT_TRUE(packet::find_transport(ipv4(132, Frame(16)), t));
  EXPECT_EQ(t.payload, 32U);
  Frame options = ipv4(17, join(hex("01010100"), udp()));
  options[0] = std::byte{0x46};
  ASSERT_TRUE(packet::find_transport(options, t));
  EXPECT_EQ(t.header, 24U);
  ASSERT_TRUE(packet::find_transport(join(kV4, Frame(8)), t));
  EXPECT_EQ(t.end, 32U);  // what lies behind the IP length is no payload
}

TEST(Transport, WalksExtensionHeaders) {
  // Hop-by-hop, routing of 16 bytes, destination options, authentication of 24 bytes, first fragment, mobility-sized unknowns
  // not.
  const Frame chain = join(hex("2b00 010400000000"
                               "3c01 0000 00000000 0000000000000000"
                               "3300 010400000000"
                               "2c04 0000 00000000 00000000 000000000000000000000000"
                               "1100 0001 00000007"),
                           udp());
  packet::Transport t;
  ASSERT_TRUE(packet::find_transport(ipv6(0, chain), t));
  EXPECT_EQ(t.protocol, 17);
  EXPECT_EQ(t.header, 40U + 8 + 16 + 8 + 24 + 8);
  for (std::size_t length = 40; length < 40 + chain.size() - 4; ++length) {
    const Frame whole = ipv6(0, chain);
    ASSERT_FALSE(packet::find_transport(std::span(whole).first(length), t)) << length;
  }
}

TEST(Transport, SaysNoToWhatHasNone) {
  packet::Transport t;
  EXPECT_FALSE(packet::find_transport({}, t));
  EXPECT_FALSE(packet::find_transport(hex("00"), t));
  EXPECT_FALSE(packet::find_transport(ipv4(17, udp(), 0x0001), t));  // a later fragment
  EXPECT_TRUE(packet::find_transport(ipv4(17, udp(), 0x2000), t));   // the first one
  EXPECT_FALSE(packet::find_transport(ipv6(44, join(hex("1100 0008 00000007"), udp())), t));
  EXPECT_FALSE(packet::find_transport(ipv4(1, Frame(8)), t));
  EXPECT_FALSE(packet::find_transport(ipv6(50, Frame(40)), t));  // ESP hides it
  EXPECT_FALSE(packet::find_transport(ipv4(17, Frame(7)), t));
  EXPECT_FALSE(packet::find_transport(ipv4(6, Frame(19)), t));
  EXPECT_FALSE(packet::find_transport(ipv4(6, Frame(40)), t));  // data offset 0
  Frame longer = ipv4(6, tcp());
  longer[32] = std::byte{0xf0};  // 60 bytes of TCP header in 28
  EXPECT_FALSE(packet::find_transport(longer, t));
}

/// Rows of pcaps.csv, by column name.
std::vector<std::map<std::string, std::string>> table(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> columns;
  std::vector<std::map<std::string, std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::vector<std::string> values;
    for (std::string value; std::getline(fields, value, ',');) values.push_back(value);
    if (columns.empty()) {
      columns = values;
      continue;
    }
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) row[columns.at(i)] = values[i];
  }
  return rows;
}

// The table was made with tshark, which counts a packet inside a tunnel too: 6in4 frames are IPv4 here.
TEST(Capture, RealCapturesAgreeWithTshark) {
  NEED_SHARED_DATA("pcap/pcaps.csv");
  const auto rows = table(shared_data() / "pcap/pcaps.csv");
  ASSERT_FALSE(rows.empty());
  for (const auto& row : rows) {
    const std::string& name = row.at("file");
    const Capture capture = read_capture(shared_data() / "pcap" / name);
    const auto of_version = [&](int version) {
      return static_cast<std::uint64_t>(
          std::count_if(capture.packets.begin(), capture.packets.end(), [&](const Packet& p) { return p.version == version; }));
    };
    EXPECT_FALSE(capture.truncated) << name;
    EXPECT_EQ(capture.malformed, 0U) << name;
    EXPECT_EQ(capture.packets.size() + capture.non_ip, std::stoull(row.at("packets"))) << name;
    EXPECT_EQ(of_version(4), std::stoull(row.at("ipv4"))) << name;
    EXPECT_EQ(of_version(6), name == "6in4tunnel.pcap" ? 0U : std::stoull(row.at("ipv6"))) << name;
    double frame_bytes = 0;
    for (const Packet& p : capture.packets) frame_bytes += p.frame_length;
    if (capture.non_ip == 0) {
      EXPECT_NEAR(frame_bytes / static_cast<double>(capture.packets.size()), std::stod(row.at("mean_packet_bytes")), 0.006)
          << name;
    }
    const double duration_s = static_cast<double>(capture.packets.back().time_ns - capture.packets.front().time_ns) * 1e-9;
    EXPECT_NEAR(duration_s, std::stod(row.at("duration_s")), 1.0) << name;
  }
}

}  // namespace
}  // namespace dpubench::inputs
