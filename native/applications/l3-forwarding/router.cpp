#include "applications/l3-forwarding/router.hpp"

#include <algorithm>
#include <cstring>

#include "applications/frames.hpp"
#include "base/byte_order.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"
#include "packet/link_layer.hpp"

namespace dpubench::applications {

namespace {

using namespace packet;

const std::uint8_t* bytes_at(std::span<const std::byte> packet, std::size_t at) {
  return reinterpret_cast<const std::uint8_t*>(packet.data() + at);
}

/// Return whether the source or the destination cannot belong to a forwarded unicast packet (RFC 1812, section 5.3.7).
bool is_martian4(const std::uint8_t* source, const std::uint8_t* destination) {
  const bool bad_source = source[0] == 0 || source[0] == 127 || source[0] >= 224;
  return bad_source || destination[0] == 0 || destination[0] == 127 || destination[0] >= 224;
}

/// Return the same for IPv6 (RFC 4291, sections 2.5.2, 2.5.3, 2.5.6 and 2.7).
bool is_martian6(const std::uint8_t* source, const std::uint8_t* destination) {
  const auto is_local = [](const std::uint8_t* a) {
    const bool is_loopback_or_none = std::all_of(a, a + 15, [](std::uint8_t byte) { return byte == 0; }) && a[15] <= 1;
    return is_loopback_or_none || a[0] == 0xff || (a[0] == 0xfe && (a[1] & 0xc0U) == 0x80);
  };
  return is_local(source) || is_local(destination);
}

/// Return the checksum after a change of one 16-bit word of the header (RFC 1624, equation 3).
std::uint16_t updated(std::uint16_t checksum, std::uint16_t before, std::uint16_t after) {
  std::uint32_t sum = static_cast<std::uint16_t>(~checksum) + std::uint32_t{static_cast<std::uint16_t>(~before)} + after;
  sum = (sum & 0xffffU) + (sum >> 16);
  sum = (sum & 0xffffU) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace

NetworkHeader network_header(std::span<const std::byte> frame) {
  NetworkHeader found;
  std::size_t at = ethernet::kHeader - 2;
  for (unsigned tags = 0; at + 2 <= frame.size(); ++tags, at += 4) {
    const std::uint32_t type = wire::be16(frame, at);
    if ((type == ethernet::kCustomerTag || type == ethernet::kServiceTag) && tags < 2) continue;
    found.type = type;
    found.at = at + 2;
    break;
  }
  return found;
}

Outcome Router::forward(std::span<const std::byte> frame, std::uint32_t link_type, std::vector<std::byte>& out) {
  NetworkHeader header;
  if (link_type == kLinkEthernet) {
    header = network_header(frame);
    if (header.type == 0) return Outcome::kShort;
  } else {
    const Unwrapped inner = unwrap(link_type, frame);
    if (inner.content == Content::kBroken) return Outcome::kShort;
    if (inner.content == Content::kIp) {
      header.type = inner.extent.version == 4 ? ethernet::kIp4 : ethernet::kIp6;
      frame = inner.ip;
    }
  }
  const std::span<const std::byte> ip = frame.subspan(header.at);
  if (header.type == ethernet::kIp4) return forward4(ip, out);
  if (header.type == ethernet::kIp6) return forward6(ip, out);
  return Outcome::kNotIp;
}

/// Route an IPv4 packet: the checks of RFC 1812, section 5.2.2, in its order.
Outcome Router::forward4(std::span<const std::byte> ip, std::vector<std::byte>& out) {
  if (ip.size() < ip4::kHeader) return Outcome::kShort;
  const std::uint32_t first = wire::u8(ip, 0);
  const std::size_t header = std::size_t{first & 15U} * 4;
  if (header < ip4::kHeader || header > ip.size()) return Outcome::kHeader;
  if (checksum::fold(checksum::add(0, ip.data(), header)) != 0xffff) return Outcome::kChecksum;
  if (first >> 4 != 4) return Outcome::kVersion;
  const std::size_t length = wire::be16(ip, ip4::kTotalLength);
  if (length < header || length > ip.size()) return Outcome::kLength;
  if (is_martian4(bytes_at(ip, ip4::kSource), bytes_at(ip, ip4::kDestination))) return Outcome::kAddress;
  if (wire::u8(ip, ip4::kTtl) <= 1) return Outcome::kExpired;  // section 5.3.1
  const std::uint32_t hop = table4_.find(bytes_at(ip, ip4::kDestination));
  if (hop == kMissed) return Outcome::kNoRoute;
  std::byte* const sent = send(ip.first(length), ethernet::kIp4, hop, out);
  const std::uint16_t before = checksum::load16(sent + ip4::kTtl);
  sent[ip4::kTtl] = static_cast<std::byte>(std::to_integer<unsigned>(sent[ip4::kTtl]) - 1);
  const std::uint16_t after = checksum::load16(sent + ip4::kTtl);
  checksum::store16(sent + ip4::kChecksum, updated(checksum::load16(sent + ip4::kChecksum), before, after));
  return Outcome::kForwarded;
}

/// Route an IPv6 packet (RFC 8200, sections 3 and 4).
Outcome Router::forward6(std::span<const std::byte> ip, std::vector<std::byte>& out) {
  if (ip.size() < ip6::kHeader) return Outcome::kShort;
  if (wire::u8(ip, 0) >> 4 != 6) return Outcome::kVersion;
  const std::size_t length = ip6::kHeader + wire::be16(ip, ip6::kPayloadLength);
  if (length > ip.size()) return Outcome::kLength;
  if (is_martian6(bytes_at(ip, ip6::kSource), bytes_at(ip, ip6::kDestination))) return Outcome::kAddress;
  if (wire::u8(ip, ip6::kHopLimit) <= 1) return Outcome::kExpired;
  const std::uint32_t hop = table6_.find(bytes_at(ip, ip6::kDestination));
  if (hop == kMissed) return Outcome::kNoRoute;
  std::byte* const sent = send(ip.first(length), ethernet::kIp6, hop, out);
  sent[ip6::kHopLimit] = static_cast<std::byte>(std::to_integer<unsigned>(sent[ip6::kHopLimit]) - 1);
  return Outcome::kForwarded;
}

/// Append an Ethernet frame with the packet to `out`, and count it. @returns the place of the packet in `out`
std::byte* Router::send(std::span<const std::byte> ip, std::uint32_t type, std::uint32_t hop, std::vector<std::byte>& out) {
  const std::size_t at = out.size();
  out.resize(at + ethernet::kHeader + ip.size());
  std::byte* const frame = out.data() + at;
  // Locally administered addresses. The destination is the neighbour of this number, the source is the router's port to it.
  const std::array<std::uint8_t, ethernet::kHeader> header = {0x02,
                                                              0,
                                                              0,
                                                              0,
                                                              1,
                                                              static_cast<std::uint8_t>(hop),
                                                              0x02,
                                                              0,
                                                              0,
                                                              0,
                                                              0,
                                                              static_cast<std::uint8_t>(hop),
                                                              static_cast<std::uint8_t>(type >> 8),
                                                              static_cast<std::uint8_t>(type)};
  std::memcpy(frame, header.data(), header.size());
  std::memcpy(frame + ethernet::kHeader, ip.data(), ip.size());
  ++hops_[hop].packets;
  hops_[hop].bytes += ip.size();
  return frame + ethernet::kHeader;
}

}  // namespace dpubench::applications
