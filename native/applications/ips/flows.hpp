// Connections: both directions of a 5-tuple share one key.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>

#include "base/byte_order.hpp"
#include "packet/headers.hpp"
#include "packet/http.hpp"
#include "packet/ip.hpp"
#include "packet/stream.hpp"

namespace dpubench::applications {

struct Endpoint {
  std::array<std::uint8_t, 16> address{};  ///< IPv4 in the first four bytes
  std::uint16_t port = 0;
  auto operator<=>(const Endpoint&) const = default;  // NOLINT(modernize-use-nullptr): the compiler writes it
};

struct ConnectionKey {
  Endpoint low;  ///< the lesser endpoint
  Endpoint high;
  std::uint8_t version = 4;
  std::uint8_t protocol = 0;
  auto operator<=>(const ConnectionKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct HashConnection {
  std::size_t operator()(const ConnectionKey& key) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15 ^ key.protocol;
    const auto mix = [&hash](std::uint64_t word) {
      hash = (hash ^ word) * 0xff51afd7ed558ccd;
      hash ^= hash >> 32;
    };
    for (const Endpoint* end : {&key.low, &key.high}) {
      std::uint64_t words[2];
      std::memcpy(words, end->address.data(), sizeof words);
      mix(words[0]);
      mix(words[1] ^ end->port);
    }
    return static_cast<std::size_t>(hash);
  }
};

/// A decoded packet: its connection and its payload.
struct Decoded {
  ConnectionKey key;
  bool from_low = false;  ///< sent by the lesser endpoint
  bool is_tcp = false;
  bool syn = false;
  std::uint32_t sequence = 0;
  std::span<const std::byte> payload;
};
/// Decode a packet. @returns false if its ports are not visible (later fragments, other protocols) @param ip  untrusted
inline bool decode(std::span<const std::byte> ip, Decoded& into) {
  packet::Transport transport;
  if (!packet::find_transport(ip, transport) ||
      (transport.protocol != packet::protocol::kTcp && transport.protocol != packet::protocol::kUdp))
    return false;
  const bool is6 = wire::u8(ip, 0) >> 4 == 6;
  const std::size_t bytes = is6 ? 16 : 4;
  Endpoint source;
  Endpoint destination;
  std::memcpy(source.address.data(), ip.data() + (is6 ? packet::ip6::kSource : packet::ip4::kSource), bytes);
  std::memcpy(destination.address.data(), ip.data() + (is6 ? packet::ip6::kDestination : packet::ip4::kDestination), bytes);
  source.port = static_cast<std::uint16_t>(wire::be16(ip, transport.header));
  destination.port = static_cast<std::uint16_t>(wire::be16(ip, transport.header + 2));
  into.from_low = source <= destination;
  into.key = {into.from_low ? source : destination, into.from_low ? destination : source, static_cast<std::uint8_t>(is6 ? 6 : 4),
              transport.protocol};
  into.is_tcp = transport.protocol == packet::protocol::kTcp;
  into.syn = into.is_tcp && (ip[transport.header + packet::tcp::kFlags] & packet::tcp::kSyn) != std::byte{};
  into.sequence = into.is_tcp ? wire::be32(ip, transport.header + packet::tcp::kSequence) : 0;
  into.payload = transport.end > transport.payload ? ip.subspan(transport.payload, transport.end - transport.payload)
                                                   : std::span<const std::byte>{};
  return true;
}

/// The rules that matched, and whether one of them drops. After a drop, nothing more is inspected.
struct Findings {
  std::set<std::uint32_t> rules;
  bool drops = false;
};

/// A rule drops if this divides its number. Other rules alert. Rule lists do not name an action, so this number decides.
inline constexpr std::uint32_t kDropEvery = 4;

struct Direction {
  packet::Stream stream;
  packet::Pieces pieces;
  packet::Requests requests;
  Findings in_payload;
  Findings in_requests;
};

struct Connection {
  std::array<Direction, 2> directions;  ///< [0] from the lesser endpoint
  std::uint64_t packets = 0;
  std::uint64_t payload_bytes = 0;
};

/// Return the output line of a connection.
inline std::string connection_line(const ConnectionKey& key, std::uint64_t packets, std::uint64_t payload_bytes,
                                   const std::set<std::uint32_t>& rules, bool drops) {
  std::string line = key.protocol == 6 ? "tcp" : "udp";
  for (const Endpoint* end : {&key.low, &key.high}) {
    line += ' ';
    for (std::size_t i = 0; i < (key.version == 6 ? 16U : 4U); ++i) line += (i == 0 ? "" : ".") + std::to_string(end->address[i]);
    line += ':' + std::to_string(end->port);
  }
  line += ' ' + std::to_string(packets) + ' ' + std::to_string(payload_bytes);
  line += drops ? " drop" : rules.empty() ? " pass" : " alert";
  for (const std::uint32_t rule : rules) line += ' ' + std::to_string(rule);
  return line + '\n';
}

}  // namespace dpubench::applications
