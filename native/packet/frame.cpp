#include "packet/frame.hpp"

#include <optional>

#include "base/byte_order.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"

namespace dpubench::packet {
namespace {

using namespace wire;

constexpr int kMostVlanTags = 2;

constexpr std::uint16_t narrow(std::size_t offset) {
  return static_cast<std::uint16_t>(offset);
}

/// Return the result for a frame without a transport header: only the place of the IP packet is known.
Parsed without_ports(Parsed p, Kind kind, std::uint32_t protocol) noexcept {
  p.kind = kind;
  p.protocol = static_cast<std::uint8_t>(protocol);
  return p;
}

Parsed broken(Kind kind) noexcept {
  Parsed p;
  p.kind = kind;
  return p;
}

/// Parse the transport header at `at`, behind all IP headers. @param p  has version, ip, end and first_fragment
Parsed transport(Bytes frame, Parsed p, std::uint32_t protocol, std::size_t at) noexcept {
  const std::size_t room = p.end - at;
  std::size_t header = least_transport_header(protocol);
  if (header == 0) return without_ports(p, Kind::kOtherIp, protocol);
  if (room < header) return broken(Kind::kShort);
  if (protocol == protocol::kTcp) {
    header = (u8(frame, at + tcp::kDataOffset) >> 4) * 4;
    if (header < tcp::kHeader || header > room) return broken(Kind::kMalformed);
  } else if (protocol == protocol::kUdp) {
    // A UDP length below the IP payload is allowed: the bytes behind it are not UDP's (RFC 9868). A first fragment holds less
    // than its UDP length says.
    const std::uint32_t length = be16(frame, at + udp::kLength);
    if (length < udp::kHeader || (length > room && !p.first_fragment)) return broken(Kind::kMalformed);
  }
  p.kind = Kind::kTransport;
  p.protocol = static_cast<std::uint8_t>(protocol);
  p.transport = narrow(at);
  p.payload = narrow(at + header);
  return p;
}

Parsed ipv4(Bytes frame, std::size_t at) noexcept {
  if (frame.size() - at < ip4::kHeader) return broken(Kind::kShort);
  const std::uint32_t first = u8(frame, at);
  const std::size_t header = (first & 0xfU) * 4;
  const std::size_t total = be16(frame, at + ip4::kTotalLength);
  if (first >> 4 != 4 || header < ip4::kHeader || total < header || total > frame.size() - at) return broken(Kind::kMalformed);
  Parsed p;
  p.version = 4;
  p.ip = narrow(at);
  p.end = narrow(at + total);
  const std::uint32_t fragment = be16(frame, at + ip4::kFragment);
  const std::uint32_t protocol = u8(frame, at + ip4::kProtocol);
  if ((fragment & ip4::kOffsetMask) != 0) return without_ports(p, Kind::kFragment, protocol);
  p.first_fragment = (fragment & ip4::kMoreFragments) != 0;
  return transport(frame, p, protocol, at + header);
}

/// Return the bytes of the extension header at `at`.
std::size_t extension_at(Bytes frame, std::uint32_t protocol, std::size_t at) noexcept {
  return extension_bytes(protocol, u8(frame, at + 1));
}

Parsed ipv6(Bytes frame, std::size_t start) noexcept {
  if (frame.size() - start < ip6::kHeader) return broken(Kind::kShort);
  // A jumbogram has length 0 (RFC 2675). None fits into a frame that is parsed here.
  const std::size_t length = be16(frame, start + ip6::kPayloadLength);
  if (u8(frame, start) >> 4 != 6 || length > frame.size() - start - ip6::kHeader) return broken(Kind::kMalformed);
  Parsed p;
  p.version = 6;
  p.ip = narrow(start);
  p.end = narrow(start + ip6::kHeader + length);
  std::uint32_t protocol = u8(frame, start + ip6::kNextHeader);
  std::size_t at = start + ip6::kHeader;
  // Every header takes at least eight bytes, so the frame's length bounds the loop.
  while (protocol::is_extension(protocol)) {
    if (p.end - at < ip6::kLeastExtension) return broken(Kind::kShort);
    const std::size_t bytes = extension_at(frame, protocol, at);
    if (bytes > p.end - at) return broken(Kind::kMalformed);
    if (protocol == protocol::kFragment) {
      const std::uint32_t fragment = be16(frame, at + 2);
      if ((fragment & 0xfff8U) != 0) return without_ports(p, Kind::kFragment, u8(frame, at));
      // A fragment with offset zero and none to follow is an atomic fragment, which is whole (RFC 6946).
      p.first_fragment = p.first_fragment || (fragment & 1U) != 0;
    }
    protocol = u8(frame, at);
    at += bytes;
  }
  return transport(frame, p, protocol, at);
}

/// Parse any frame but one of untagged IPv4 without options and fragments that holds 42 bytes or more.
[[gnu::noinline]] Parsed parse_unusual(Bytes frame) noexcept {
  if (frame.size() < ethernet::kHeader) return broken(Kind::kShort);
  std::size_t at = ethernet::kHeader;
  std::uint32_t type = be16(frame, at - 2);
  for (int tags = 0; tags < kMostVlanTags && ethernet::is_tag(type); ++tags) {
    if (frame.size() - at < ethernet::kTag) return broken(Kind::kShort);
    at += ethernet::kTag;
    type = be16(frame, at - 2);
  }
  if (type == ethernet::kIp4) return ipv4(frame, at);
  if (type == ethernet::kIp6) return ipv6(frame, at);
  return broken(Kind::kNotIp);
}

/// Return the offset of the destination address of the pseudo-header. Behind a routing header that has segments left, it is the
/// last address of that header (RFC 8200 section 8.1). Return nothing if the form of the routing header is not known.
std::optional<std::size_t> ipv6_destination(Bytes frame, const Parsed& parsed) noexcept {
  std::uint32_t protocol = u8(frame, parsed.ip + ip6::kNextHeader);
  for (std::size_t at = parsed.ip + ip6::kHeader; at < parsed.transport;) {
    const std::size_t bytes = extension_at(frame, protocol, at);
    if (protocol == protocol::kRouting && u8(frame, at + 3) != 0) {
      const std::uint32_t type = u8(frame, at + 2);
      if (bytes < 24) return std::nullopt;
      if (type == 0) return at + 8 + (bytes - 8) / 16 * 16 - 16;  // RFC 2460 section 4.4: the last address
      if (type == 2 || type == 4) return at + 8;                  // RFC 6275 section 6.4: the only one; RFC 8754: reverse order
      return std::nullopt;
    }
    protocol = u8(frame, at);
    at += bytes;
  }
  return parsed.ip + ip6::kDestination;
}

/// The bytes that a TCP or UDP checksum covers, and the place of the checksum.
struct Covered {
  std::size_t field = 0;  ///< offset of the checksum in the frame
  std::size_t length = 0;
  checksum::Sum pseudo = 0;
};

/// Return what the frame's TCP or UDP checksum covers. Return nothing if there is no such checksum, or this frame does not hold
/// all bytes that it covers.
std::optional<Covered> covered(Bytes frame, const Parsed& parsed) noexcept {
  if (parsed.kind != Kind::kTransport || parsed.first_fragment) return std::nullopt;
  Covered c;
  if (parsed.protocol == protocol::kTcp) {
    c.field = parsed.transport + tcp::kChecksum;
    c.length = std::size_t{parsed.end} - parsed.transport;
  } else if (parsed.protocol == protocol::kUdp) {
    c.field = parsed.transport + udp::kChecksum;
    c.length = be16(frame, parsed.transport + udp::kLength);
  } else {
    return std::nullopt;
  }
  const std::byte* const ip = frame.data() + parsed.ip;
  c.pseudo = checksum::Sum{network16(parsed.protocol)} + network32(static_cast<std::uint32_t>(c.length));
  if (parsed.version == 4) {
    c.pseudo = checksum::add(c.pseudo, ip + ip4::kAddresses, ip4::kAddressBytes);
    return c;
  }
  const std::optional<std::size_t> destination = ipv6_destination(frame, parsed);
  if (!destination) return std::nullopt;
  c.pseudo = checksum::add(checksum::add(c.pseudo, ip + ip6::kSource, 16), frame.data() + *destination, 16);
  return c;
}

}  // namespace

Parsed parse(std::span<const std::byte> frame) noexcept {
  constexpr std::size_t kUdpAt = ethernet::kHeader + ip4::kHeader;
  constexpr std::size_t kMost = 0xffff;
  if (frame.size() > kMost) [[unlikely]]
    frame = frame.first(kMost);
  if (frame.size() >= kUdpAt + udp::kHeader) [[likely]] {
    const std::byte* const f = frame.data();
    const bool plain =
        checksum::load16(f + ethernet::kType) == network16(ethernet::kIp4) && f[ethernet::kHeader] == std::byte{0x45} &&
        (checksum::load16(f + ethernet::kHeader + ip4::kFragment) & network16(ip4::kMoreFragments | ip4::kOffsetMask)) == 0;
    const std::size_t total = be16(frame, ethernet::kHeader + ip4::kTotalLength);
    if (plain && f[ethernet::kHeader + ip4::kProtocol] == std::byte{protocol::kUdp} && total <= frame.size() - ethernet::kHeader)
        [[likely]] {
      const std::uint32_t length = be16(frame, kUdpAt + udp::kLength);
      if (length >= udp::kHeader && length + ip4::kHeader <= total) [[likely]] {
        Parsed p;
        p.kind = Kind::kTransport;
        p.version = 4;
        p.protocol = protocol::kUdp;
        p.ip = ethernet::kHeader;
        p.transport = kUdpAt;
        p.payload = kUdpAt + udp::kHeader;
        p.end = narrow(ethernet::kHeader + total);
        return p;
      }
    }
    if (plain) return ipv4(frame, ethernet::kHeader);
  }
  return parse_unusual(frame);
}

bool ip_checksum_valid(std::span<const std::byte> frame, const Parsed& parsed) noexcept {
  if (parsed.version != 4) return true;
  const std::byte* const ip = frame.data() + parsed.ip;
  return checksum::fold(checksum::add(0, ip, (std::to_integer<std::size_t>(ip[0]) & 0xfU) * 4)) == 0xffff;
}

bool transport_checksum_valid(std::span<const std::byte> frame, const Parsed& parsed) noexcept {
  const std::optional<Covered> c = covered(frame, parsed);
  if (!c) return true;
  // Zero means no checksum (RFC 768). IPv6 has no such exception (RFC 8200 section 8.1).
  if (parsed.protocol == protocol::kUdp && checksum::load16(frame.data() + c->field) == 0) return parsed.version == 4;
  return checksum::fold(checksum::add(c->pseudo, frame.data() + parsed.transport, c->length)) == 0xffff;
}

void set_checksums(std::span<std::byte> frame, const Parsed& parsed) noexcept {
  if (parsed.version == 4) {
    std::byte* const ip = frame.data() + parsed.ip;
    checksum::store16(ip + ip4::kChecksum, 0);
    checksum::store16(ip + ip4::kChecksum,
                      checksum::finish(checksum::add(0, ip, (std::to_integer<std::size_t>(ip[0]) & 0xfU) * 4)));
  }
  const std::optional<Covered> c = covered(frame, parsed);
  if (!c) return;
  checksum::store16(frame.data() + c->field, 0);
  const std::uint16_t sum = checksum::finish(checksum::add(c->pseudo, frame.data() + parsed.transport, c->length));
  // A computed zero is sent as its complement, because zero means no checksum (RFC 768).
  checksum::store16(frame.data() + c->field, sum == 0 && parsed.protocol == protocol::kUdp ? std::uint16_t{0xffff} : sum);
}

}  // namespace dpubench::packet
