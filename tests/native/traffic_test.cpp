#include "inputs/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "expect_error.hpp"
#include "inputs/capture.hpp"
#include "packet/ip.hpp"

namespace dpubench::inputs {
namespace {

using test::expect_error;

/// One's complement sum of 16-bit words, folded: ffff where a checksum is valid (RFC 1071). Written apart from make_packet's.
std::uint32_t ones_sum(std::span<const std::byte> bytes, std::uint32_t sum = 0) {
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const auto high = std::to_integer<std::uint32_t>(bytes[i]);
    const auto low = i + 1 < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + 1]) : 0;
    sum += high * 256 + low;
    sum = (sum & 0xffffU) + (sum >> 16);
  }
  return sum;
}

Flow flow_of(std::uint8_t version, std::uint8_t protocol) {
  Flow flow;
  flow.version = version;
  flow.protocol = protocol;
  flow.source_port = 0x1234;
  flow.destination_port = 443;
  for (std::size_t i = 0; i < 16; ++i) {
    flow.source[i] = static_cast<std::uint8_t>(10 + i);
    flow.destination[i] = static_cast<std::uint8_t>(200 + i);
  }
  return flow;
}

TEST(MakePacket, HeadersAndChecksumsAreValidAtEveryLength) {
  Random random(1);
  for (const std::uint8_t version : {std::uint8_t{4}, std::uint8_t{6}}) {
    for (const std::uint8_t protocol : {std::uint8_t{6}, std::uint8_t{17}}) {
      const Flow flow = flow_of(version, protocol);
      const std::uint32_t header = version == 4 ? 20 : 40;
      const std::uint32_t least = header + (protocol == 6 ? 20 : 8);
      for (std::uint32_t asked = 0; asked < 200; ++asked) {
        const auto packet = make_packet(flow, asked, random);
        ASSERT_EQ(packet.size(), std::max(asked, least));
        packet::Transport transport;
        ASSERT_TRUE(packet::find_transport(packet, transport));
        ASSERT_EQ(transport.protocol, protocol);
        ASSERT_EQ(transport.header, header);
        ASSERT_EQ(transport.payload, least);
        ASSERT_EQ(transport.end, packet.size());
        const std::span<const std::byte> ip(packet);
        if (version == 4) {
          ASSERT_EQ(ones_sum(ip.first(20)), 0xffffU);
        }
        const std::size_t address_bytes = version == 4 ? 4 : 16;
        const auto addresses = ip.subspan(header - 2 * address_bytes, 2 * address_bytes);
        const auto pseudo = ones_sum(addresses, static_cast<std::uint32_t>(protocol + packet.size() - header));
        ASSERT_EQ(ones_sum(ip.subspan(header), pseudo), 0xffffU) << asked;
        ASSERT_TRUE(std::equal(addresses.begin(), addresses.begin() + static_cast<std::ptrdiff_t>(address_bytes),
                               std::as_bytes(std::span(flow.source)).begin()));
        ASSERT_EQ(ip[header], std::byte{0x12});
        ASSERT_EQ(ip[header + 1], std::byte{0x34});
      }
    }
  }
}

TEST(MakePacket, AUdpChecksumIsNeverZero) {
  // RFC 768: zero means that there is none. Small payloads over many packets meet a computed zero once in 65536.
  Random random(2);
  bool is_all_ones_seen = false;
  for (int i = 0; i < 300'000; ++i) {
    const auto packet = make_packet(flow_of(4, 17), 32, random);
    ASSERT_FALSE(packet[26] == std::byte{0} && packet[27] == std::byte{0});
    is_all_ones_seen |= packet[26] == std::byte{0xff} && packet[27] == std::byte{0xff};
  }
  EXPECT_TRUE(is_all_ones_seen);
}

TEST(MakePacket, LongestPacketsAndImpossibleOnes) {
  Random random(3);
  EXPECT_EQ(make_packet(flow_of(4, 17), 65535, random).size(), 65535U);
  EXPECT_EQ(make_packet(flow_of(6, 6), 65575, random).size(), 65575U);
  EXPECT_THROW(make_packet(flow_of(4, 17), 65536, random), std::invalid_argument);
  EXPECT_THROW(make_packet(flow_of(6, 17), 65576, random), std::invalid_argument);
  EXPECT_THROW(make_packet(flow_of(4, 1), 100, random), std::invalid_argument);
  EXPECT_THROW(make_packet(flow_of(5, 6), 100, random), std::invalid_argument);
}

TEST(Traffic, FlowsAreDistinctAndOfTheBenchmarkingRanges) {
  for (const std::uint8_t version : {std::uint8_t{4}, std::uint8_t{6}}) {
    TrafficModel model;
    model.flows = 20'000;
    model.version = version;
    Random random(4);
    const Traffic traffic = generate_traffic(model, 10, random);
    ASSERT_EQ(traffic.flows.size(), model.flows);
    std::set<std::tuple<std::uint8_t, std::uint16_t, std::uint16_t, std::array<std::uint8_t, 16>, std::array<std::uint8_t, 16>>>
        seen;
    int udp = 0;
    for (const Flow& f : traffic.flows) {
      ASSERT_TRUE(seen.emplace(f.protocol, f.source_port, f.destination_port, f.source, f.destination).second);
      ASSERT_EQ(f.version, version);
      ASSERT_EQ(f.source[0], version == 4 ? 198 : 0x20);
      ASSERT_GE(f.source_port, 1024);
      ASSERT_GE(f.destination_port, 1);
      udp += f.protocol == 17 ? 1 : 0;
    }
    EXPECT_NEAR(udp, 0.2 * model.flows, 200);
  }
}

TEST(Traffic, ImixIsTheDefaultInItsProportions) {
  TrafficModel model;
  Random random(5);
  constexpr int kPackets = 120'000;
  std::map<std::uint32_t, int> counts;
  for (const ModelPacket& p : generate_traffic(model, kPackets, random).packets) ++counts[p.ip_length];
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_NEAR(counts[40], kPackets * 7 / 12, 600);
  EXPECT_NEAR(counts[576], kPackets * 4 / 12, 600);
  EXPECT_NEAR(counts[1500], kPackets / 12, 400);
}

TEST(Traffic, PopularityIsUniformOrZipf) {
  TrafficModel model;
  model.flows = 100;
  Random random(6);
  constexpr int kPackets = 100'000;
  std::vector<int> counts(model.flows);
  for (const ModelPacket& p : generate_traffic(model, kPackets, random).packets) ++counts.at(p.flow);
  EXPECT_NEAR(counts[0], kPackets / 5.187, 500);  // the hundredth harmonic number
  EXPECT_NEAR(counts[9], kPackets / 51.87, 200);
  model.popularity = Popularity::kUniform;
  std::fill(counts.begin(), counts.end(), 0);
  for (const ModelPacket& p : generate_traffic(model, kPackets, random).packets) ++counts.at(p.flow);
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(Traffic, LengthsBelowTheHeadersAreRaisedAndZeroWeightsNeverDrawn) {
  TrafficModel model;
  model.version = 6;
  model.udp_share = 0;
  model.sizes = {{100, 0}, {1, 1}, {200, 0}};
  Random random(7);
  for (const ModelPacket& p : generate_traffic(model, 1000, random).packets) ASSERT_EQ(p.ip_length, 60U);
}

TEST(Traffic, IsTheSameForTheSameSeed) {
  TrafficModel model;
  const auto draw = [&](std::uint64_t seed) {
    Random random(seed);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> packets;
    for (const ModelPacket& p : generate_traffic(model, 1000, random).packets) packets.emplace_back(p.flow, p.ip_length);
    return packets;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Traffic, ImpossibleModelsAreRefused) {
  const auto refused = [](void (*change)(TrafficModel&), std::string_view what) {
    TrafficModel model;
    change(model);
    Random random(1);
    expect_error([&] { generate_traffic(model, 1, random); }, {"traffic model: ", what});
  };
  refused([](TrafficModel& m) { m.flows = 0; }, "flows is 0");
  refused([](TrafficModel& m) { m.version = 5; }, "version is 5");
  refused([](TrafficModel& m) { m.zipf_exponent = 0; }, "zipf_exponent");
  refused([](TrafficModel& m) { m.zipf_exponent = NAN; }, "zipf_exponent");
  refused([](TrafficModel& m) { m.udp_share = 1.5; }, "udp_share");
  refused([](TrafficModel& m) { m.sizes = {{0, 1}}; }, "packet size 0 B");
  refused([](TrafficModel& m) { m.sizes = {{65536, 1}}; }, "1 to 65535 B");
  refused([](TrafficModel& m) { m.sizes = {{64, -1}}; }, "weight of packet size 64 B");
  refused([](TrafficModel& m) { m.sizes = {{64, 0}}; }, "more than 0");
}

}  // namespace
}  // namespace dpubench::inputs
