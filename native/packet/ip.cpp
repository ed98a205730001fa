#include "packet/ip.hpp"

#include <algorithm>

#include "packet/headers.hpp"

namespace dpubench::packet {

using namespace wire;

namespace {

/// Return the payload length from a jumbogram's hop-by-hop option (RFC 2675 section 2), or 0 when there is none.
std::uint32_t jumbo_payload(Bytes ip) {
  constexpr std::uint32_t kPad1 = 0;
  constexpr std::uint32_t kJumbo = 0xc2;
  if (u8(ip, ip6::kNextHeader) != protocol::kHopByHop || ip.size() < ip6::kHeader + 8) return 0;
  const std::size_t end = std::min<std::size_t>(ip.size(), ip6::kHeader + 8 * (u8(ip, ip6::kHeader + 1) + 1));
  for (std::size_t at = ip6::kHeader + 2; at + 2 <= end;) {
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
    if (ip.size() < ip4::kHeader) return std::nullopt;
    const std::uint32_t header = (u8(ip, 0) & 0xfU) * 4;
    const std::uint32_t total = be16(ip, ip4::kTotalLength);
    if (header < ip4::kHeader || header > ip.size() || (total != 0 && total < header)) return std::nullopt;
    return Extent{version, header, total == 0 ? ip.size() : std::min<std::size_t>(total, ip.size())};
  }
  if (version == 6) {
    if (ip.size() < ip6::kHeader) return std::nullopt;
    std::uint64_t payload = be16(ip, ip6::kPayloadLength);
    if (payload == 0) payload = jumbo_payload(ip);
    if (payload == 0 && u8(ip, ip6::kNextHeader) != protocol::kNoNextHeader) payload = ip.size();
    return Extent{version, ip6::kHeader, static_cast<std::size_t>(std::min<std::uint64_t>(ip6::kHeader + payload, ip.size()))};
  }
  return std::nullopt;
}

bool find_transport(Bytes ip_packet, Transport& out) {
  const std::optional<Extent> extent = ip_extent(ip_packet);
  if (!extent) return false;
  const Bytes ip = ip_packet.first(extent->length);
  std::size_t at = extent->header;
  std::uint32_t protocol = 0;
  if (extent->version == 4) {
    if ((be16(ip, ip4::kFragment) & ip4::kOffsetMask) != 0) return false;
    protocol = u8(ip, ip4::kProtocol);
  } else {
    protocol = u8(ip, ip6::kNextHeader);
    while (protocol::is_extension(protocol)) {
      if (at + ip6::kLeastExtension > ip.size()) return false;
      if (protocol == protocol::kFragment && (be16(ip, at + 2) & 0xfff8U) != 0) return false;
      const std::size_t bytes = extension_bytes(protocol, u8(ip, at + 1));
      protocol = u8(ip, at);
      at += bytes;
    }
  }
  if (at > ip.size()) return false;
  const Bytes transport = ip.subspan(at);
  std::size_t header = least_transport_header(protocol);
  if (header == 0 || header > transport.size()) return false;
  if (protocol == protocol::kTcp) {
    header = (u8(transport, tcp::kDataOffset) >> 4) * 4;
    if (header < tcp::kHeader || header > transport.size()) return false;
  }
  out.protocol = static_cast<std::uint8_t>(protocol);
  out.header = static_cast<std::uint32_t>(at);
  out.payload = static_cast<std::uint32_t>(at + header);
  out.end = static_cast<std::uint32_t>(ip.size());
  return true;
}

}  // namespace dpubench::packet
