#include "packet/ip.hpp"

#include <algorithm>

namespace dpubench::inputs {

using namespace wire;

namespace {

constexpr std::uint32_t kIpv4Header = 20;
constexpr std::uint32_t kIpv6Header = 40;
constexpr std::uint32_t kHopByHop = 0;
constexpr std::uint32_t kNoNextHeader = 59;

/// Return the payload length from a jumbogram's hop-by-hop option (RFC 2675 section 2), or 0 when there is none.
std::uint32_t jumbo_payload(Bytes ip) {
  constexpr std::uint32_t kPad1 = 0;
  constexpr std::uint32_t kJumbo = 0xc2;
  if (u8(ip, 6) != kHopByHop || ip.size() < kIpv6Header + 8) return 0;
  const std::size_t end = std::min<std::size_t>(ip.size(), kIpv6Header + 8 * (u8(ip, kIpv6Header + 1) + 1));
  for (std::size_t at = kIpv6Header + 2; at + 2 <= end;) {
    if (u8(ip, at) == kPad1) {
      ++at;
      continue;
    }
    const std::uint32_t length = u8(ip, at + 1);
    if (u8(ip, at) == kJumbo && length == 4 && at + 6 <= end) return be32(ip, at + 2);
    at += 2 + length;
  }
  return 0;
}

}  // namespace

std::optional<Extent> ip_extent(Bytes ip) {
  if (ip.empty()) return std::nullopt;
  const std::uint32_t version = u8(ip, 0) >> 4;
  if (version == 4) {
    if (ip.size() < kIpv4Header) return std::nullopt;
    const std::uint32_t header = (u8(ip, 0) & 0xfU) * 4;
    const std::uint32_t total = be16(ip, 2);
    if (header < kIpv4Header || header > ip.size() || (total != 0 && total < header)) return std::nullopt;
    return Extent{version, header, total == 0 ? ip.size() : std::min<std::size_t>(total, ip.size())};
  }
  if (version == 6) {
    if (ip.size() < kIpv6Header) return std::nullopt;
    std::uint64_t payload = be16(ip, 4);
    if (payload == 0) payload = jumbo_payload(ip);
    if (payload == 0 && u8(ip, 6) != kNoNextHeader) payload = ip.size();
    return Extent{version, kIpv6Header, static_cast<std::size_t>(std::min<std::uint64_t>(kIpv6Header + payload, ip.size()))};
  }
  return std::nullopt;
}

bool find_transport(Bytes ip_packet, Transport& out) {
  constexpr std::uint32_t kTcp = 6;
  constexpr std::uint32_t kUdp = 17;
  constexpr std::uint32_t kSctp = 132;
  const std::optional<Extent> extent = ip_extent(ip_packet);
  if (!extent) return false;
  const Bytes ip = ip_packet.first(extent->length);
  std::size_t at = extent->header;
  std::uint32_t protocol = 0;
  if (extent->version == 4) {
    constexpr std::uint32_t kFragmentOffset = 0x1fff;
    if ((be16(ip, 6) & kFragmentOffset) != 0) return false;
    protocol = u8(ip, 9);
  } else {
    protocol = u8(ip, 6);
    for (bool is_extension = true; is_extension;) {
      switch (protocol) {
        case kHopByHop:
        case 43:     // routing
        case 44:     // fragment
        case 51:     // authentication
        case 60:     // destination options
        case 135:    // mobility
        case 139:    // HIP
        case 140: {  // Shim6
          if (at + 8 > ip.size()) return false;
          if (protocol == 44 && (be16(ip, at + 2) & 0xfff8U) != 0) return false;
          const std::uint32_t length = u8(ip, at + 1);
          // Lengths: fixed (RFC 8200 section 4.5), words of four minus two (RFC 4302 section 2.2), or words of eight minus one.
          const std::size_t size = protocol == 44 ? 8 : protocol == 51 ? (length + 2) * 4 : (length + 1) * 8;
          protocol = u8(ip, at);
          at += size;
          break;
        }
        default:
          is_extension = false;
      }
    }
  }
  if (at > ip.size()) return false;
  const Bytes transport = ip.subspan(at);
  std::size_t header = 0;
  switch (protocol) {
    case kTcp:
      if (transport.size() < 20) return false;
      header = (u8(transport, 12) >> 4) * 4;
      if (header < 20) return false;
      break;
    case kUdp:
      header = 8;
      break;
    case kSctp:
      header = 12;
      break;
    default:
      return false;
  }
  if (header > transport.size()) return false;
  out.protocol = static_cast<std::uint8_t>(protocol);
  out.header = static_cast<std::uint32_t>(at);
  out.payload = static_cast<std::uint32_t>(at + header);
  out.end = static_cast<std::uint32_t>(ip.size());
  return true;
}

}  // namespace dpubench::inputs
