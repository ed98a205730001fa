// The key that identifies a flow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/byte_order.hpp"
#include "packet/frame.hpp"
#include "packet/headers.hpp"

namespace dpubench::datapath::flow_table {

enum class KeyKind : std::uint8_t {
  kPaper,      ///< both IP addresses, destination port, both MAC addresses (DPUBench)
  kFiveTuple,  ///< both IP addresses, both ports, protocol
};

/// The key of a flow. It has 48 bytes whatever the kind and the IP version, so that a flow and its counters share one cache
/// line. The XDP program (xdp.bpf.c) writes the same bytes.
struct alignas(16) Key {
  std::array<std::byte, 16> source{};  ///< an IPv4 address takes the first four bytes, the others are 0
  std::array<std::byte, 16> destination{};
  std::uint16_t destination_port = 0;  ///< in host order; 0 where the packet has no ports
  std::uint8_t version = 0;            ///< 4 or 6
  std::uint8_t protocol = 0;           ///< IANA number; kPaper: 0
  /// kPaper: source and destination MAC address. kFiveTuple: the source port in host order, then zeros.
  std::array<std::byte, 12> rest{};

  [[nodiscard]] std::uint16_t source_port(KeyKind kind) const noexcept {
    std::uint16_t port = 0;
    if (kind == KeyKind::kFiveTuple) std::memcpy(&port, rest.data(), sizeof port);
    return port;
  }
  bool operator==(const Key&) const = default;
  /// Compare the bytes, for maps and for sorting; the order has no meaning. There is no padding.
  bool operator<(const Key& other) const noexcept { return std::memcmp(this, &other, sizeof *this) < 0; }
};
static_assert(sizeof(Key) == 48);

/// Return whether two keys are equal, without branches.
inline bool same(const Key& a, const Key& b) noexcept {
  std::uint64_t x[6];
  std::uint64_t y[6];
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]) | (x[4] ^ y[4]) | (x[5] ^ y[5])) == 0;
}

/// Make the key of a frame. Return false if the IP header is not sound, that is, if packet::parse() calls the frame not IP, short
/// or malformed. Packets without ports (later fragments, ICMP, tunnels) have port 0. @param parsed  the result for `frame`
inline bool make_key(std::span<const std::byte> frame, const packet::Parsed& parsed, KeyKind kind, Key& key) noexcept {
  if (parsed.kind != packet::Kind::kTransport && parsed.kind != packet::Kind::kFragment && parsed.kind != packet::Kind::kOtherIp)
    return false;
  const auto port = [&](std::size_t at) { return static_cast<std::uint16_t>(wire::be16(frame, at)); };
  key = Key{};
  key.version = parsed.version;
  const std::byte* const ip = frame.data() + parsed.ip;
  if (parsed.version == 4) {
    std::memcpy(key.source.data(), ip + packet::ip4::kSource, 4);
    std::memcpy(key.destination.data(), ip + packet::ip4::kDestination, 4);
  } else {
    std::memcpy(key.source.data(), ip + packet::ip6::kSource, 16);
    std::memcpy(key.destination.data(), ip + packet::ip6::kDestination, 16);
  }
  const bool has_ports = parsed.kind == packet::Kind::kTransport;
  if (has_ports) key.destination_port = port(parsed.transport + 2U);
  if (kind == KeyKind::kPaper) {
    std::memcpy(key.rest.data(), frame.data() + 6, 6);
    std::memcpy(key.rest.data() + 6, frame.data(), 6);
    return true;
  }
  key.protocol = parsed.protocol;
  if (has_ports) {
    const std::uint16_t source_port = port(parsed.transport);
    std::memcpy(key.rest.data(), &source_port, sizeof source_port);
  }
  return true;
}

}  // namespace dpubench::datapath::flow_table
