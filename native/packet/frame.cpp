#include "packet/frame.hpp"

#include <optional>

#include "base/byte_order.hpp"
#include "packet/checksum.hpp"

namespace dpubench::datapath {
namespace {

using namespace inputs::wire;

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kVlanTag = 4;
constexpr int kMostVlanTags = 2;
constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kIpv6Header = 40;
constexpr std::uint32_t kTypeIpv4 = 0x0800;
constexpr std::uint32_t kTypeIpv6 = 0x86dd;
constexpr std::uint32_t kTypeVlan = 0x8100;     // IEEE 802.1Q section 9.6: customer tag
constexpr std::uint32_t kTypeService = 0x88a8;  // IEEE 802.1Q section 9.6: service tag
constexpr std::uint32_t kTypeOldService = 0x9100;

constexpr std::uint32_t kHopByHop = 0;
constexpr std::uint32_t kTcp = 6;
constexpr std::uint32_t kUdp = 17;
constexpr std::uint32_t kRouting = 43;
constexpr std::uint32_t kFragment = 44;
constexpr std::uint32_t kAuthentication = 51;
constexpr std::uint32_t kDestination = 60;
constexpr std::uint32_t kSctp = 132;
constexpr std::uint32_t kMobility = 135;
constexpr std::uint32_t kHip = 139;
constexpr std::uint32_t kShim6 = 140;

constexpr std::size_t kTcpHeader = 20;
constexpr std::size_t kUdpHeader = 8;
constexpr std::size_t kSctpHeader = 12;
constexpr std::size_t kTcpChecksum = 16;  // RFC 9293 section 3.1
constexpr std::size_t kUdpChecksum = 6;   // RFC 768
constexpr std::size_t kIpChecksum = 10;   // RFC 791 section 3.1

constexpr std::uint32_t kMoreFragments = 0x2000;
constexpr std::uint32_t kFragmentOffset = 0x1fff;

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
  std::size_t header = 0;
  switch (protocol) {
    case kTcp:
      if (room < kTcpHeader) return broken(Kind::kShort);
      header = (u8(frame, at + 12) >> 4) * 4;
      if (header < kTcpHeader || header > room) return broken(Kind::kMalformed);
      break;
    case kUdp: {
      if (room < kUdpHeader) return broken(Kind::kShort);
      // A UDP length below the IP payload is allowed: the bytes behind it are not UDP's (RFC 9868). A first fragment holds less
      // than its UDP length says.
      const std::uint32_t length = be16(frame, at + 4);
      if (length < kUdpHeader || (length > room && !p.first_fragment)) return broken(Kind::kMalformed);
      header = kUdpHeader;
      break;
    }
    case kSctp:
      if (room < kSctpHeader) return broken(Kind::kShort);
      header = kSctpHeader;
      break;
    default:
      return without_ports(p, Kind::kOtherIp, protocol);
  }
  p.kind = Kind::kTransport;
  p.protocol = static_cast<std::uint8_t>(protocol);
  p.transport = narrow(at);
  p.payload = narrow(at + header);
  return p;
}

Parsed ipv4(Bytes frame, std::size_t at) noexcept {
  if (frame.size() - at < kIpv4Header) return broken(Kind::kShort);
  const std::uint32_t first = u8(frame, at);
  const std::size_t header = (first & 0xfU) * 4;
  const std::size_t total = be16(frame, at + 2);
  if (first >> 4 != 4 || header < kIpv4Header || total < header || total > frame.size() - at) return broken(Kind::kMalformed);
  Parsed p;
  p.version = 4;
  p.ip = narrow(at);
  p.end = narrow(at + total);
  const std::uint32_t fragment = be16(frame, at + 6);
  const std::uint32_t protocol = u8(frame, at + 9);
  if ((fragment & kFragmentOffset) != 0) return without_ports(p, Kind::kFragment, protocol);
  p.first_fragment = (fragment & kMoreFragments) != 0;
  return transport(frame, p, protocol, at + header);
}

bool is_extension(std::uint32_t protocol) noexcept {
  switch (protocol) {
    case kHopByHop:
    case kRouting:
    case kFragment:
    case kAuthentication:
    case kDestination:
    case kMobility:
    case kHip:
    case kShim6:
      return true;
    default:
      return false;
  }
}

/// Return the bytes of an extension header. A fragment header has a fixed size (RFC 8200 section 4.5). An authentication header
/// gives its length in words of four, minus two (RFC 4302 section 2.2); the others in words of eight, minus one.
std::size_t extension_bytes(Bytes frame, std::uint32_t protocol, std::size_t at) noexcept {
  if (protocol == kFragment) return 8;
  const std::size_t length = u8(frame, at + 1);
  return protocol == kAuthentication ? (length + 2) * 4 : (length + 1) * 8;
}

Parsed ipv6(Bytes frame, std::size_t start) noexcept {
  if (frame.size() - start < kIpv6Header) return broken(Kind::kShort);
  // A jumbogram has length 0 (RFC 2675). None fits into a frame that is parsed here.
  const std::size_t length = be16(frame, start + 4);
  if (u8(frame, start) >> 4 != 6 || length > frame.size() - start - kIpv6Header) return broken(Kind::kMalformed);
  Parsed p;
  p.version = 6;
  p.ip = narrow(start);
  p.end = narrow(start + kIpv6Header + length);
  std::uint32_t protocol = u8(frame, start + 6);
  std::size_t at = start + kIpv6Header;
  // Every header takes at least eight bytes, so the frame's length bounds the loop.
  while (is_extension(protocol)) {
    if (p.end - at < 8) return broken(Kind::kShort);
    const std::size_t bytes = extension_bytes(frame, protocol, at);
    if (bytes > p.end - at) return broken(Kind::kMalformed);
    if (protocol == kFragment) {
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
  if (frame.size() < kEthernet) return broken(Kind::kShort);
  std::size_t at = kEthernet;
  std::uint32_t type = be16(frame, at - 2);
  for (int tags = 0; tags < kMostVlanTags && (type == kTypeVlan || type == kTypeService || type == kTypeOldService); ++tags) {
    if (frame.size() - at < kVlanTag) return broken(Kind::kShort);
    at += kVlanTag;
    type = be16(frame, at - 2);
  }
  if (type == kTypeIpv4) return ipv4(frame, at);
  if (type == kTypeIpv6) return ipv6(frame, at);
  return broken(Kind::kNotIp);
}

/// Return the offset of the destination address of the pseudo-header. Behind a routing header that has segments left, it is the
/// last address of that header (RFC 8200 section 8.1). Return nothing if the form of the routing header is not known.
std::optional<std::size_t> ipv6_destination(Bytes frame, const Parsed& parsed) noexcept {
  std::uint32_t protocol = u8(frame, parsed.ip + 6U);
  for (std::size_t at = parsed.ip + kIpv6Header; at < parsed.transport;) {
    const std::size_t bytes = extension_bytes(frame, protocol, at);
    if (protocol == kRouting && u8(frame, at + 3) != 0) {
      const std::uint32_t type = u8(frame, at + 2);
      if (bytes < 24) return std::nullopt;
      if (type == 0) return at + 8 + (bytes - 8) / 16 * 16 - 16;  // RFC 2460 section 4.4: the last address
      if (type == 2 || type == 4) return at + 8;                  // RFC 6275 section 6.4: the only one; RFC 8754: reverse order
      return std::nullopt;
    }
    protocol = u8(frame, at);
    at += bytes;
  }
  return parsed.ip + 24U;
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
  if (parsed.protocol == kTcp) {
    c.field = parsed.transport + kTcpChecksum;
    c.length = std::size_t{parsed.end} - parsed.transport;
  } else if (parsed.protocol == kUdp) {
    c.field = parsed.transport + kUdpChecksum;
    c.length = be16(frame, parsed.transport + 4U);
  } else {
    return std::nullopt;
  }
  const std::byte* const ip = frame.data() + parsed.ip;
  c.pseudo = checksum::Sum{checksum::network16(parsed.protocol)} + checksum::network32(static_cast<std::uint32_t>(c.length));
  if (parsed.version == 4) {
    c.pseudo = checksum::add(c.pseudo, ip + 12, 8);
    return c;
  }
  const std::optional<std::size_t> destination = ipv6_destination(frame, parsed);
  if (!destination) return std::nullopt;
  c.pseudo = checksum::add(checksum::add(c.pseudo, ip + 8, 16), frame.data() + *destination, 16);
  return c;
}

}  // namespace

Parsed parse(std::span<const std::byte> frame) noexcept {
  constexpr std::size_t kUdpAt = kEthernet + kIpv4Header;
  constexpr std::size_t kMost = 0xffff;
  if (frame.size() > kMost) [[unlikely]]
    frame = frame.first(kMost);
  if (frame.size() >= kUdpAt + kUdpHeader) [[likely]] {
    const std::byte* const f = frame.data();
    const bool plain = checksum::load16(f + 12) == checksum::network16(kTypeIpv4) && f[kEthernet] == std::byte{0x45} &&
                       (checksum::load16(f + kEthernet + 6) & checksum::network16(kMoreFragments | kFragmentOffset)) == 0;
    const std::size_t total = be16(frame, kEthernet + 2);
    if (plain && f[kEthernet + 9] == std::byte{kUdp} && total <= frame.size() - kEthernet) [[likely]] {
      const std::uint32_t length = be16(frame, kUdpAt + 4);
      if (length >= kUdpHeader && length + kIpv4Header <= total) [[likely]] {
        Parsed p;
        p.kind = Kind::kTransport;
        p.version = 4;
        p.protocol = kUdp;
        p.ip = kEthernet;
        p.transport = kUdpAt;
        p.payload = kUdpAt + kUdpHeader;
        p.end = narrow(kEthernet + total);
        return p;
      }
    }
    if (plain) return ipv4(frame, kEthernet);
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
  if (parsed.protocol == kUdp && checksum::load16(frame.data() + c->field) == 0) return parsed.version == 4;
  return checksum::fold(checksum::add(c->pseudo, frame.data() + parsed.transport, c->length)) == 0xffff;
}

void set_checksums(std::span<std::byte> frame, const Parsed& parsed) noexcept {
  if (parsed.version == 4) {
    std::byte* const ip = frame.data() + parsed.ip;
    checksum::store16(ip + kIpChecksum, 0);
    checksum::store16(ip + kIpChecksum, checksum::finish(checksum::add(0, ip, (std::to_integer<std::size_t>(ip[0]) & 0xfU) * 4)));
  }
  const std::optional<Covered> c = covered(frame, parsed);
  if (!c) return;
  checksum::store16(frame.data() + c->field, 0);
  const std::uint16_t sum = checksum::finish(checksum::add(c->pseudo, frame.data() + parsed.transport, c->length));
  // A computed zero is sent as its complement, because zero means no checksum (RFC 768).
  checksum::store16(frame.data() + c->field, sum == 0 && parsed.protocol == kUdp ? std::uint16_t{0xffff} : sum);
}

}  // namespace dpubench::datapath
