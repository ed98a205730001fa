// The input of tcp_segment and what all its engines must agree on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "operators/support/segments.hpp"

namespace dpubench::tcp_segment {

using segments::Layout;

/// Whether `in` is a whole TCP packet over IPv4 without options or over IPv6 without extension headers, and its parts.
inline Layout layout(bool v4, std::size_t mtu, const std::byte* in, std::size_t length) {
  using namespace segments;
  Layout l;
  l.ip = v4 ? ip4::kHeader : ip6::kHeader;
  if (length < l.ip + tcp::kHeader) return l;
  const bool whole = v4 ? in[0] == std::byte{0x45} && in[ip4::kProtocol] == tcp::kProtocol &&
                              get16(in + ip4::kTotalLength) == length &&
                              (get16(in + ip4::kFragment) & (ip4::kMoreFragments | ip4::kOffsetMask)) == 0
                        : (in[0] >> 4) == std::byte{6} && in[ip6::kNextHeader] == tcp::kProtocol &&
                              get16(in + ip6::kPayloadLength) == length - l.ip;
  l.headers = l.ip + 4 * std::to_integer<std::size_t>(in[l.ip + tcp::kDataOffset] >> 4);
  if (!whole || l.headers < l.ip + tcp::kHeader || l.headers > length || l.headers >= mtu) return l;
  l.payload = length - l.headers;
  l.piece = mtu - l.headers;
  l.packets = std::max<std::size_t>(1, (l.payload + l.piece - 1) / l.piece);
  return l;
}

/// Flags of packet `index`: FIN and PSH belong to the last byte, CWR to the first packet (RFC 3168 section 6.1.2: set once).
inline std::byte flags_of(std::byte input, std::size_t index, std::size_t packets) {
  if (index + 1 != packets) input &= ~(segments::tcp::kFin | segments::tcp::kPsh);
  if (index != 0) input &= ~segments::tcp::kCwr;
  return input;
}

}  // namespace dpubench::tcp_segment
