// The fields of headers, as offsets from the first byte of their header, and the numbers in them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpubench::packet {

namespace ethernet {  // IEEE Std 802.3 section 3, IEEE Std 802.1Q section 9
inline constexpr std::size_t kHeader = 14;
inline constexpr std::size_t kAddressBytes = 6;
inline constexpr std::size_t kType = 12;
inline constexpr std::size_t kTag = 4;            ///< bytes of a VLAN tag; the type lies behind it
inline constexpr std::uint32_t kFcsBytes = 4;     ///< not part of a frame in memory
inline constexpr std::uint32_t kLeastFrame = 64;  ///< with FCS
inline constexpr std::uint32_t kIp4 = 0x0800;
inline constexpr std::uint32_t kIp6 = 0x86dd;
inline constexpr std::uint32_t kCustomerTag = 0x8100;
inline constexpr std::uint32_t kServiceTag = 0x88a8;
inline constexpr std::uint32_t kOldServiceTag = 0x9100;  ///< stacked tags before IEEE Std 802.1ad
constexpr bool is_tag(std::uint32_t type) noexcept {
  return type == kCustomerTag || type == kServiceTag || type == kOldServiceTag;
}
}  // namespace ethernet

namespace ip4 {  // RFC 791 section 3.1
inline constexpr std::size_t kHeader = 20;
inline constexpr std::size_t kTotalLength = 2;
inline constexpr std::size_t kIdentification = 4;
inline constexpr std::size_t kFragment = 6;  ///< flags and offset
inline constexpr std::size_t kTtl = 8;
inline constexpr std::size_t kProtocol = 9;
inline constexpr std::size_t kChecksum = 10;
inline constexpr std::size_t kAddresses = 12;  ///< the source's, then the destination's
inline constexpr std::size_t kSource = kAddresses;
inline constexpr std::size_t kDestination = 16;
inline constexpr std::size_t kAddressBytes = 8;  ///< of both
inline constexpr std::uint32_t kDontFragment = 0x4000;
inline constexpr std::uint32_t kMoreFragments = 0x2000;
inline constexpr std::uint32_t kOffsetMask = 0x1fff;  ///< in units of 8 bytes
}  // namespace ip4

namespace ip6 {  // RFC 8200 section 3
inline constexpr std::size_t kHeader = 40;
inline constexpr std::size_t kPayloadLength = 4;
inline constexpr std::size_t kNextHeader = 6;
inline constexpr std::size_t kHopLimit = 7;
inline constexpr std::size_t kAddresses = 8;
inline constexpr std::size_t kSource = kAddresses;
inline constexpr std::size_t kDestination = 24;
inline constexpr std::size_t kAddressBytes = 32;   ///< of both
inline constexpr std::size_t kFragmentHeader = 8;  ///< section 4.5
inline constexpr std::size_t kLeastExtension = 8;  ///< bytes that every extension header has
}  // namespace ip6

namespace protocol {  // www.iana.org/assignments/protocol-numbers
inline constexpr std::uint8_t kHopByHop = 0;
inline constexpr std::uint8_t kTcp = 6;
inline constexpr std::uint8_t kUdp = 17;
inline constexpr std::uint8_t kRouting = 43;
inline constexpr std::uint8_t kFragment = 44;
inline constexpr std::uint8_t kEsp = 50;
inline constexpr std::uint8_t kAuthentication = 51;
inline constexpr std::uint8_t kNoNextHeader = 59;
inline constexpr std::uint8_t kDestination = 60;
inline constexpr std::uint8_t kSctp = 132;
inline constexpr std::uint8_t kMobility = 135;
inline constexpr std::uint8_t kHip = 139;
inline constexpr std::uint8_t kShim6 = 140;
/// Return whether the number stands for an extension header of IPv6 that another header follows.
constexpr bool is_extension(std::uint32_t number) noexcept {
  switch (number) {
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
}  // namespace protocol

namespace tcp {  // RFC 9293 section 3.1
inline constexpr std::size_t kHeader = 20;
inline constexpr std::size_t kSequence = 4;
inline constexpr std::size_t kDataOffset = 12;
inline constexpr std::size_t kFlags = 13;
inline constexpr std::size_t kChecksum = 16;
inline constexpr std::byte kFin{0x01};
inline constexpr std::byte kSyn{0x02};
inline constexpr std::byte kRst{0x04};
inline constexpr std::byte kPsh{0x08};
inline constexpr std::byte kCwr{0x80};
}  // namespace tcp

namespace udp {  // RFC 768
inline constexpr std::size_t kHeader = 8;
inline constexpr std::size_t kLength = 4;
inline constexpr std::size_t kChecksum = 6;
}  // namespace udp

namespace sctp {  // RFC 9260 section 3.1
inline constexpr std::size_t kHeader = 12;
}  // namespace sctp

/// Return the bytes of an extension header of IPv6. A fragment header has a fixed size (RFC 8200 section 4.5). An authentication
/// header gives its length in words of four, minus two (RFC 4302 section 2.2); the others in words of eight, minus one.
/// @param length  the header's second byte
constexpr std::size_t extension_bytes(std::uint32_t number, std::size_t length) noexcept {
  if (number == protocol::kFragment) return ip6::kFragmentHeader;
  return number == protocol::kAuthentication ? (length + 2) * 4 : (length + 1) * 8;
}

/// Return the least bytes of a transport header, or 0 for a protocol without ports that are known.
constexpr std::size_t least_transport_header(std::uint32_t number) noexcept {
  switch (number) {
    case protocol::kTcp:
      return tcp::kHeader;
    case protocol::kUdp:
      return udp::kHeader;
    case protocol::kSctp:
      return sctp::kHeader;
    default:
      return 0;
  }
}

}  // namespace dpubench::packet
