#include "packet/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "inputs/capture.hpp"
#include "inputs/random.hpp"
#include "native/capture_builder.hpp"
#include "native/shared_data.hpp"
#include "packet/ip.hpp"

namespace dpubench::packet {
namespace {

using test::Bytes;
using test::hex;
using test::join;
using Frame = std::vector<std::byte>;

constexpr std::size_t kMacs = 12;

Frame ethernet(std::string_view type, const Frame& packet) {
  return Bytes().zeros(kMacs).hex(type).add(packet).get();
}

Frame udp(std::size_t payload, int length_off_by = 0) {
  const auto length = static_cast<std::uint64_t>(static_cast<int>(8 + payload) + length_off_by);
  return Bytes().u16(1000).u16(53).u16(length).u16(0).zeros(payload).get();
}

Frame tcp(std::size_t payload, unsigned words = 5) {
  return Bytes()
      .u16(1000)
      .u16(80)
      .u32(1)
      .u32(2)
      .u8(words << 4)
      .u8(0x10)
      .zeros(6)
      .zeros(words > 5 ? (words - 5) * 4 : 0)
      .zeros(payload)
      .get();
}

Frame v4(std::uint8_t protocol, const Frame& payload, unsigned fragment = 0, unsigned option_words = 0, int length_off_by = 0) {
  const std::size_t header = 20 + 4 * std::size_t{option_words};
  const auto total = static_cast<std::uint64_t>(static_cast<int>(header + payload.size()) + length_off_by);
  return Bytes()
      .u8(0x45 + option_words)
      .u8(0)
      .u16(total)
      .u16(7)
      .u16(fragment)
      .u8(64)
      .u8(protocol)
      .u16(0)
      .hex("0a000001 0a000002")
      .zeros(4 * std::size_t{option_words})
      .add(payload)
      .get();
}

Frame v6(std::uint8_t next, const Frame& payload, int length_off_by = 0) {
  const auto length = static_cast<std::uint64_t>(static_cast<int>(payload.size()) + length_off_by);
  return Bytes().u32(0x60000000).u16(length).u8(next).u8(64).zeros(15).u8(1).zeros(15).u8(2).add(payload).get();
}

/// Return an extension header of 8 * units bytes.
Frame extension(std::uint8_t next, unsigned units = 1) {
  return Bytes().u8(next).u8(units - 1).zeros(8 * std::size_t{units} - 2).get();
}

Frame cut(Frame whole, std::size_t length) {
  whole.resize(length);
  return whole;
}

struct Case {
  std::string name;
  Frame frame;
  Parsed want;
};

Parsed plain(Kind kind) {
  Parsed p;
  p.kind = kind;
  return p;
}

Parsed with_ip(Kind kind, unsigned version, unsigned protocol, std::size_t ip, std::size_t end) {
  Parsed p = plain(kind);
  p.version = static_cast<std::uint8_t>(version);
  p.protocol = static_cast<std::uint8_t>(protocol);
  p.ip = static_cast<std::uint16_t>(ip);
  p.end = static_cast<std::uint16_t>(end);
  return p;
}

Parsed whole(unsigned version, unsigned protocol, std::size_t ip, std::size_t transport, std::size_t payload, std::size_t end,
             bool first_fragment = false) {
  Parsed p = with_ip(Kind::kTransport, version, protocol, ip, end);
  p.transport = static_cast<std::uint16_t>(transport);
  p.payload = static_cast<std::uint16_t>(payload);
  p.first_fragment = first_fragment;
  return p;
}

void expect_equal(const Parsed& got, const Parsed& want) {
  EXPECT_EQ(static_cast<int>(got.kind), static_cast<int>(want.kind));
  EXPECT_EQ(got.version, want.version);
  EXPECT_EQ(got.protocol, want.protocol);
  EXPECT_EQ(got.first_fragment, want.first_fragment);
  EXPECT_EQ(got.ip, want.ip);
  EXPECT_EQ(got.transport, want.transport);
  EXPECT_EQ(got.payload, want.payload);
  EXPECT_EQ(got.end, want.end);
}

std::vector<Case> cases() {
  const Frame padding(18);
  const Frame authentication = Bytes().u8(6).u8(4).zeros(22).get();    // RFC 4302: (4 + 2) words of four
  const Frame first = Bytes().u8(17).u8(0).u16(1).u32(9).get();        // RFC 8200 section 4.5: more to come
  const Frame later = Bytes().u8(17).u8(0).u16(8U << 3).u32(9).get();  // offset 8
  const Frame atomic = Bytes().u8(17).u8(0).u16(0).u32(9).get();       // RFC 6946
  return {
      {"udp", ethernet("0800", join(v4(17, udp(10)), padding)), whole(4, 17, 14, 34, 42, 52)},
      {"udp, no payload", ethernet("0800", v4(17, udp(0))), whole(4, 17, 14, 34, 42, 42)},
      {"udp, do not fragment", ethernet("0800", v4(17, udp(10), 0x4000)), whole(4, 17, 14, 34, 42, 52)},
      {"udp, shorter than ip", ethernet("0800", v4(17, udp(10, -4))), whole(4, 17, 14, 34, 42, 52)},
      {"udp, longer than ip", ethernet("0800", v4(17, udp(10, 1))), plain(Kind::kMalformed)},
      {"udp, length below its header", ethernet("0800", v4(17, udp(10, -11))), plain(Kind::kMalformed)},
      {"udp, cut header", ethernet("0800", v4(17, Frame(7))), plain(Kind::kShort)},
      {"tcp", ethernet("0800", join(v4(6, tcp(5)), padding)), whole(4, 6, 14, 34, 54, 59)},
      {"tcp, options", ethernet("0800", v4(6, tcp(5, 8))), whole(4, 6, 14, 34, 66, 71)},
      {"tcp, offset below its header", ethernet("0800", v4(6, tcp(5, 4))), plain(Kind::kMalformed)},
      {"tcp, offset behind the packet", ethernet("0800", v4(6, cut(tcp(0, 15), 40))), plain(Kind::kMalformed)},
      {"sctp", ethernet("0800", v4(132, Frame(20))), whole(4, 132, 14, 34, 46, 54)},
      {"sctp, cut header", ethernet("0800", v4(132, Frame(11))), plain(Kind::kShort)},
      {"icmp", ethernet("0800", v4(1, Frame(8))), with_ip(Kind::kOtherIp, 4, 1, 14, 42)},
      {"ip in ip", ethernet("0800", v4(4, v4(17, udp(1)))), with_ip(Kind::kOtherIp, 4, 4, 14, 63)},
      {"ipv4 options", ethernet("0800", v4(17, udp(3), 0, 2)), whole(4, 17, 14, 42, 50, 53)},
      {"first fragment", ethernet("0800", v4(17, udp(8, 100), 0x2000)), whole(4, 17, 14, 34, 42, 50, true)},
      {"first fragment of tcp", ethernet("0800", v4(6, tcp(4), 0x2000)), whole(4, 6, 14, 34, 54, 58, true)},
      {"later fragment", ethernet("0800", v4(17, udp(8), 0x0010)), with_ip(Kind::kFragment, 4, 17, 14, 50)},
      {"last but one", ethernet("0800", v4(17, udp(8), 0x3fff)), with_ip(Kind::kFragment, 4, 17, 14, 50)},
      {"ipv4, longer than the frame", ethernet("0800", v4(17, udp(8), 0, 0, 1)), plain(Kind::kMalformed)},
      {"ipv4, shorter than its header", ethernet("0800", v4(17, {}, 0, 0, -1)), plain(Kind::kMalformed)},
      {"ipv4, header below five words", ethernet("0800", join(hex("44"), Frame(40))), plain(Kind::kMalformed)},
      {"ipv4, another version", ethernet("0800", v6(17, udp(8))), plain(Kind::kMalformed)},
      {"ipv4, cut", ethernet("0800", Frame(19, std::byte{0x45})), plain(Kind::kShort)},
      {"one tag", ethernet("8100 0005 0800", v4(17, udp(10))), whole(4, 17, 18, 38, 46, 56)},
      {"two tags", ethernet("88a8 0005 8100 0006 86dd", v6(17, udp(10))), whole(6, 17, 22, 62, 70, 80)},
      {"three tags", ethernet("8100 0005 8100 0006 8100 0007 0800", v4(17, udp(10))), plain(Kind::kNotIp)},
      {"a tag cut", ethernet("8100 0005 08", {}), plain(Kind::kShort)},
      {"arp", ethernet("0806", Frame(46)), plain(Kind::kNotIp)},
      {"length of 802.3", ethernet("0026", Frame(46)), plain(Kind::kNotIp)},
      {"ethernet cut", Frame(13), plain(Kind::kShort)},
      {"nothing", {}, plain(Kind::kShort)},
      {"ipv6 udp", ethernet("86dd", join(v6(17, udp(10)), padding)), whole(6, 17, 14, 54, 62, 72)},
      {"ipv6 tcp", ethernet("86dd", v6(6, tcp(10))), whole(6, 6, 14, 54, 74, 84)},
      {"ipv6 icmp", ethernet("86dd", v6(58, Frame(8))), with_ip(Kind::kOtherIp, 6, 58, 14, 62)},
      {"ipv6, nothing follows", ethernet("86dd", v6(59, {})), with_ip(Kind::kOtherIp, 6, 59, 14, 54)},
      {"ipv6, longer than the frame", ethernet("86dd", v6(17, udp(8), 1)), plain(Kind::kMalformed)},
      {"ipv6, cut", ethernet("86dd", Frame(39, std::byte{0x60})), plain(Kind::kShort)},
      {"ipv6, another version", ethernet("86dd", Frame(60, std::byte{0x45})), plain(Kind::kMalformed)},
      {"hop by hop, routing, destination",
       ethernet("86dd", v6(0, join(join(extension(43), extension(60, 3)), join(extension(17, 2), udp(4))))),
       whole(6, 17, 14, 102, 110, 114)},
      {"authentication", ethernet("86dd", v6(51, join(authentication, tcp(1)))), whole(6, 6, 14, 78, 98, 99)},
      {"ipv6 first fragment", ethernet("86dd", v6(44, join(first, udp(8, 50)))), whole(6, 17, 14, 62, 70, 78, true)},
      {"ipv6 later fragment", ethernet("86dd", v6(44, join(later, udp(8)))), with_ip(Kind::kFragment, 6, 17, 14, 78)},
      {"ipv6 atomic fragment", ethernet("86dd", v6(44, join(atomic, udp(8)))), whole(6, 17, 14, 62, 70, 78)},
      {"extension cut", ethernet("86dd", v6(0, Frame(7))), plain(Kind::kShort)},
      {"extension longer than the packet", ethernet("86dd", v6(60, join(hex("11 02"), Frame(20)))), plain(Kind::kMalformed)},
      {"extensions without end", ethernet("86dd", v6(0, Frame(64))), plain(Kind::kShort)},
      {"encrypted", ethernet("86dd", v6(50, Frame(20))), with_ip(Kind::kOtherIp, 6, 50, 14, 74)},
  };
}

TEST(Parse, FindsEveryHeader) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    expect_equal(parse(c.frame), c.want);
  }
}

/// Expect the properties that the result for any frame has.
void expect_consistent(const Parsed& p, std::size_t frame) {
  const bool has_ip = p.kind == Kind::kTransport || p.kind == Kind::kFragment || p.kind == Kind::kOtherIp;
  if (!has_ip) {
    ASSERT_EQ(p.version + p.protocol + p.ip + p.transport + p.payload + p.end, 0);
    return;
  }
  ASSERT_TRUE(p.version == 4 || p.version == 6);
  ASSERT_GE(p.ip, 14);
  ASSERT_GE(p.end, p.ip + (p.version == 4 ? 20 : 40));
  ASSERT_LE(p.end, frame);
  if (p.kind != Kind::kTransport) {
    ASSERT_EQ(p.transport + p.payload, 0);
    return;
  }
  ASSERT_GE(p.transport, p.ip + (p.version == 4 ? 20 : 40));
  ASSERT_GE(p.payload, p.transport + 8);
  ASSERT_LE(p.payload, p.end);
}

TEST(Parse, CutFramesAreNoTransportAndNeverReadBeyond) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    for (std::size_t length = 0; length < c.frame.size(); ++length) {
      const Frame cut(c.frame.begin(), c.frame.begin() + static_cast<std::ptrdiff_t>(length));  // own copy for the sanitizer
      const Parsed p = parse(cut);
      expect_consistent(p, length);
      // Only bytes behind the IP packet may be missing.
      if (p.kind == Kind::kTransport) {
        EXPECT_GE(length, c.want.end);
      }
    }
  }
}

TEST(Parse, LongFramesAreParsedAsFarAsOffsetsReach) {
  Frame frame = ethernet("0800", v4(17, udp(65507)));
  ASSERT_EQ(frame.size(), 65549U);
  expect_equal(parse(frame), plain(Kind::kMalformed));  // 16 bits cannot hold its end
}

TEST(Parse, AnyBytes) {
  inputs::Random random(11);
  const std::vector<Case> seeds = cases();
  for (int i = 0; i < 200'000; ++i) {
    Frame frame = seeds[random.below(seeds.size())].frame;
    for (std::uint64_t flips = random.below(4); flips != 0 && !frame.empty(); --flips) {
      frame[random.below(frame.size())] = static_cast<std::byte>(random.below(256));
    }
    const Parsed p = parse(frame);
    expect_consistent(p, frame.size());
    const Parsed before = p;
    static_cast<void>(ip_checksum_valid(frame, p));
    static_cast<void>(transport_checksum_valid(frame, p));
    const bool told = p.kind == Kind::kTransport;
    set_checksums(frame, p);
    ASSERT_TRUE(ip_checksum_valid(frame, p));
    ASSERT_TRUE(transport_checksum_valid(frame, p));
    if (told) expect_equal(parse(frame), before);
  }
}

TEST(Checksums, KnownPacket) {
  // A UDP packet to port 53. Both checksums are computed by hand from RFC 1071.
  Frame frame = ethernet("0800", hex("45000021 00010000 40110000 0a000001 0a000002 04d2 0035 000d 0000 6869212100"));
  const Parsed p = parse(frame);
  ASSERT_EQ(static_cast<int>(p.kind), static_cast<int>(Kind::kTransport));
  EXPECT_FALSE(ip_checksum_valid(frame, p));
  EXPECT_TRUE(transport_checksum_valid(frame, p));  // zero means none
  set_checksums(frame, p);
  // 4500+0021+0001+0000+4011+0a00+0001+0a00+0002 = 9936; 0a00+0001+0a00+0002+0011+000d (pseudo) + 04d2+0035+000d+6869+2121+0000 =
  // a2c1
  EXPECT_EQ(std::vector(frame.begin() + 24, frame.begin() + 26), hex("66c9"));
  EXPECT_EQ(std::vector(frame.begin() + 40, frame.begin() + 42), hex("5d40"));
}

TEST(Checksums, ZeroOfUdpIsSentAsItsComplementAndForbiddenInIpv6) {
  // A payload that equals the first checksum makes the second checksum zero.
  Frame frame = ethernet("0800", v4(17, udp(2)));
  Parsed p = parse(frame);
  set_checksums(frame, p);
  const Frame sum(frame.begin() + 40, frame.begin() + 42);
  std::copy(sum.begin(), sum.end(), frame.begin() + 42);  // the payload
  set_checksums(frame, p);
  EXPECT_EQ(std::vector(frame.begin() + 40, frame.begin() + 42), hex("ffff"));
  EXPECT_TRUE(transport_checksum_valid(frame, p));

  Frame six = ethernet("86dd", v6(17, udp(2)));
  p = parse(six);
  EXPECT_FALSE(transport_checksum_valid(six, p));
  set_checksums(six, p);
  EXPECT_TRUE(transport_checksum_valid(six, p));
  six.resize(80, std::byte{1});  // bytes behind the packet's end do not count
  EXPECT_EQ(p.end, 64);
  EXPECT_TRUE(transport_checksum_valid(six, parse(six)));
  six[63] ^= std::byte{1};
  EXPECT_FALSE(transport_checksum_valid(six, p));
}

TEST(Checksums, OfARoutedPacketAreOfItsFinalDestination) {
  // RFC 8754: one segment is left, and the final destination is the first of the list. The checksum is as the final host sees it.
  Frame list = Bytes().u8(17).u8(4).u8(4).u8(1).zeros(4).zeros(15).u8(9).zeros(15).u8(2).get();
  Frame routed = ethernet("86dd", v6(43, join(list, udp(4))));
  set_checksums(routed, parse(routed));
  Frame arrived = routed;
  arrived[14 + 39] = std::byte{9};  // the destination, once the last segment is reached
  arrived[14 + 40 + 3] = std::byte{0};
  EXPECT_TRUE(transport_checksum_valid(arrived, parse(arrived)));
  arrived[14 + 39] = std::byte{2};
  EXPECT_FALSE(transport_checksum_valid(arrived, parse(arrived)));
  // RFC 2460 section 4.4: in type 0 the final destination is the last of the list.
  list = Bytes().u8(17).u8(4).u8(0).u8(1).zeros(4).zeros(15).u8(2).zeros(15).u8(9).get();
  routed = ethernet("86dd", v6(43, join(list, udp(4))));
  set_checksums(routed, parse(routed));
  routed[14 + 39] = std::byte{9};
  routed[14 + 40 + 3] = std::byte{0};
  EXPECT_TRUE(transport_checksum_valid(routed, parse(routed)));
}

TEST(Parse, AgreesWithTheCaptureReaderOnRealTraffic) {
  NEED_SHARED_DATA("pcap");
  std::map<int, std::size_t> kinds;
  std::size_t right_sums = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::shared_data() / "pcap")) {
    if (entry.path().extension() != ".pcap") continue;
    SCOPED_TRACE(entry.path().filename());
    const inputs::Capture capture = inputs::read_capture(entry.path());
    for (const inputs::Packet& packet : capture.packets) {
      const auto ip = capture.ip(packet);
      const Frame frame = ethernet(packet.version == 4 ? "0800" : "86dd", Frame(ip.begin(), ip.end()));
      const Parsed p = parse(frame);
      expect_consistent(p, frame.size());
      ++kinds[static_cast<int>(p.kind)];
      Transport transport;
      const bool found = find_transport(ip, transport);
      if (p.kind == Kind::kTransport) {
        ASSERT_TRUE(found);
        ASSERT_EQ(p.protocol, transport.protocol);
        ASSERT_EQ(p.transport, 14 + transport.header);
        ASSERT_EQ(p.payload, 14 + transport.payload);
        ASSERT_EQ(p.end, 14 + transport.end);
        right_sums += ip_checksum_valid(frame, p) && transport_checksum_valid(frame, p) ? 1 : 0;
      } else if (found) {
        // Only packets that were captured in part, or that say more than they hold.
        ASSERT_TRUE(p.kind == Kind::kMalformed || p.kind == Kind::kShort);
      }
    }
  }
  // The parser is meant for real traffic: it finds a transport header in most of it, and most checksums are right.
  EXPECT_GT(kinds[static_cast<int>(Kind::kTransport)], 10'000U);
  EXPECT_GT(right_sums, kinds[static_cast<int>(Kind::kTransport)] / 2);
  for (const auto& [kind, count] : kinds) RecordProperty("kind" + std::to_string(kind), std::to_string(count));
}

}  // namespace
}  // namespace dpubench::packet
