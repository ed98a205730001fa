// Makes the frames on which engines are verified.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "datapath/workloads/flow-table/oracle.hpp"
#include "inputs/random.hpp"

namespace dpubench::datapath::flow_table {
namespace {

using Frame = std::vector<std::byte>;

constexpr std::size_t kGenerated = 2000;
constexpr std::size_t kCaptured = 4000;
/// Most bytes of an untagged Ethernet frame without FCS, which every kind of port takes.
constexpr std::size_t kMostFrameBytes = 1514;
constexpr std::size_t kEthernetBytes = 14;

void put(Frame& frame, std::initializer_list<unsigned> bytes) {
  for (const unsigned byte : bytes) frame.push_back(static_cast<std::byte>(byte));
}

void put16(Frame& frame, std::size_t value) {
  put(frame, {static_cast<unsigned>(value >> 8 & 0xff), static_cast<unsigned>(value & 0xff)});
}

/// Return an Ethernet header: MAC addresses, each of one of four hosts, up to three tags (the parser knows two), and the type.
Frame ethernet(inputs::Random& random, unsigned type) {
  Frame frame;
  put(frame, {2, 0, 0, 0, 0, static_cast<unsigned>(random.below(4)), 2, 0, 0, 0, 1, static_cast<unsigned>(random.below(4))});
  const std::uint64_t draw = random.below(16);
  const std::uint64_t tags = draw < 12 ? 0 : draw - 12;
  for (std::uint64_t tag = 0; tag < tags; ++tag) {
    put16(frame, std::array<std::size_t, 3>{0x8100, 0x88a8, 0x9100}[random.below(3)]);
    put16(frame, random.below(4096));
  }
  put16(frame, type);
  return frame;
}

/// Return a protocol, and a header of TCP, UDP, SCTP, ICMP or something else with a payload behind it, now and then with a
/// wrong length.
std::pair<unsigned, Frame> transport(inputs::Random& random) {
  constexpr std::array<unsigned, 6> kProtocols = {17, 17, 6, 132, 1, 47};
  const unsigned protocol = kProtocols[random.below(kProtocols.size())];
  const std::size_t payload = random.below(64);
  Frame segment;
  put16(segment, 1024 + random.below(8));
  put16(segment, 80 + random.below(4));
  if (protocol == 17) {
    put16(segment, random.below(16) == 0 ? random.below(80) : 8 + payload);
    put16(segment, 0);
  } else if (protocol == 6) {
    put(segment, {0, 0, 0, 1, 0, 0, 0, 0});
    put(segment, {static_cast<unsigned>((random.below(8) == 0 ? random.below(16) : 5) << 4), 0x10, 1, 0, 0, 0, 0, 0});
  } else {
    put(segment, {0, 0, 0, 0, 0, 0, 0, 0});
  }
  for (std::size_t i = 0; i < payload; ++i) put(segment, {static_cast<unsigned>(random.below(256))});
  return {protocol, segment};
}

Frame ipv4(inputs::Random& random) {
  Frame frame = ethernet(random, 0x0800);
  const auto [protocol, segment] = transport(random);
  const std::size_t options = random.below(6) == 0 ? random.below(11) : 0;
  const std::size_t total = 20 + options * 4 + segment.size();
  const bool lies = random.below(16) == 0;
  const auto words = static_cast<unsigned>(lies ? random.below(16) : 5 + options);
  put(frame, {(random.below(32) == 0 ? 0x50U : 0x40U) | words, 0});
  put16(frame, lies ? random.below(200) : total);
  put16(frame, 1);
  constexpr std::array<std::size_t, 8> kFragments = {0, 0, 0, 0, 0x4000, 0x2000, 0x2010, 0x0010};
  put16(frame, kFragments[random.below(kFragments.size())]);
  put(frame, {64, protocol, 0, 0, 10, 0, 0, static_cast<unsigned>(random.below(6))});
  put(frame, {10, 0, 1, static_cast<unsigned>(random.below(6))});
  frame.resize(frame.size() + options * 4, std::byte{1});
  frame.insert(frame.end(), segment.begin(), segment.end());
  return frame;
}

/// Return an IPv6 frame with up to three extension headers, fragment headers among them.
Frame ipv6(inputs::Random& random) {
  constexpr std::array<unsigned, 8> kExtensions = {0, 43, 44, 51, 60, 135, 139, 140};
  const auto [protocol, segment] = transport(random);
  Frame behind;
  const std::uint64_t n = random.below(3) == 0 ? 1 + random.below(3) : 0;
  std::vector<unsigned> chain;
  for (std::uint64_t i = 0; i < n; ++i) chain.push_back(kExtensions[random.below(kExtensions.size())]);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const unsigned next = i + 1 < chain.size() ? chain[i + 1] : protocol;
    if (chain[i] == 44) {
      put(behind, {next, 0});
      put16(behind, std::array<std::size_t, 4>{0, 1, 0x11, 0x10}[random.below(4)]);
      put(behind, {0, 0, 0, 7});
    } else if (chain[i] == 51) {
      put(behind, {next, 4, 0, 0});  // six words
      behind.resize(behind.size() + 20);
    } else {
      const auto units = static_cast<unsigned>(random.below(random.below(8) == 0 ? 40 : 3));
      put(behind, {next, units});
      behind.resize(behind.size() + 6 + (random.below(8) == 0 ? 0 : units * 8));
    }
  }
  behind.insert(behind.end(), segment.begin(), segment.end());
  Frame frame = ethernet(random, 0x86dd);
  put(frame, {random.below(32) == 0 ? 0x50U : 0x60U, 0, 0, 0});
  put16(frame, random.below(16) == 0 ? random.below(200) : behind.size());
  put(frame, {chain.empty() ? protocol : chain.front(), 64});
  for (const unsigned side : {1U, 2U}) {
    put(frame, {0x20, 1, 0xd, 0xb8, 0, 0, 0, side, 0, 0, 0, 0, 0, 0, 0, static_cast<unsigned>(random.below(6))});
  }
  frame.insert(frame.end(), behind.begin(), behind.end());
  return frame;
}

Frame generate(inputs::Random& random) {
  const std::uint64_t draw = random.below(32);
  Frame frame = draw == 0 ? ethernet(random, 0x0806) : draw < 12 ? ipv6(random) : ipv4(random);
  if (draw == 0) frame.resize(frame.size() + 28);
  if (random.below(3) == 0) frame.resize(frame.size() + random.below(30));  // padding and trailer
  if (random.below(12) == 0) frame.resize(kEthernetBytes + random.below(frame.size() - kEthernetBytes + 1));
  return frame;
}

}  // namespace

Frames verification_frames(inputs::Store& store, std::uint64_t seed) {
  inputs::Random random(seed);
  Frames frames;
  for (std::size_t i = 0; i < kGenerated; ++i) frames.push_back(generate(random));
  if (!store.has("capture")) return frames;
  const inputs::Capture& capture = store.capture();
  for (std::size_t i = 0; i < std::min(kCaptured, capture.packets.size()); ++i) {
    const auto ip = capture.ip(capture.packets[i]);
    if (ip.size() > kMostFrameBytes - kEthernetBytes) continue;
    Frame frame;
    put(frame, {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2});
    put16(frame, capture.packets[i].version == 4 ? 0x0800 : 0x86dd);
    frame.insert(frame.end(), ip.begin(), ip.end());
    frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace dpubench::datapath::flow_table
