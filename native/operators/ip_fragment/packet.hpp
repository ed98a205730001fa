// The input of ip_fragment and what all its engines must agree on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "operators/support/segments.hpp"

namespace dpubench::ip_fragment {

using segments::Variant;

inline constexpr std::size_t kUnit = 8;  ///< fragment offsets count units of 8 bytes: RFC 791 section 3.1, RFC 8200 section 4.5
inline constexpr std::size_t kAuxBytes = 4;  ///< IPv6: the fragment header's identification, in network byte order

/// Where the parts of an input lie, and into how many packets it falls.
struct Layout {
  std::size_t header = 0;   ///< bytes of the input's IP header
  std::size_t out = 0;      ///< bytes of every packet's headers
  std::size_t payload = 0;  ///< bytes behind the IP header
  std::size_t piece = 0;    ///< payload bytes of every packet but the last
  std::size_t packets = 0;  ///< 1 where the input fits already; 0: not an input of this operator, or it must not be fragmented
};

/// IPv6 extension headers that every fragment would have to carry (hop-by-hop 0, routing 43), and the fragment header itself
/// (44).
inline bool stays_with_header(std::byte next) {
  return next == std::byte{0} || next == std::byte{43} || next == segments::ip6::kFragmentProtocol;
}

/// Whether `in` is an IPv4 datagram without options (it may be a fragment itself) or an IPv6 one whose extension headers all
/// belong to the fragmentable part, and its parts.
inline Layout layout(bool v4, std::size_t mtu, const std::byte* in, std::size_t length) {
  using namespace segments;
  Layout l;
  l.header = v4 ? ip4::kHeader : ip6::kHeader;
  if (length < l.header) return l;
  const bool whole = v4 ? in[0] == std::byte{0x45} && get16(in + ip4::kTotalLength) == length
                        : (in[0] >> 4) == std::byte{6} && get16(in + ip6::kPayloadLength) == length - l.header &&
                              !stays_with_header(in[ip6::kNextHeader]);
  l.payload = length - l.header;
  l.out = l.header;
  l.piece = l.payload;
  if (whole && length <= mtu) {
    l.packets = 1;
    return l;
  }
  if (!v4) l.out += ip6::kFragmentHeader;
  if (!whole || mtu < l.out + kUnit) return l;
  if (v4 && (get16(in + ip4::kFragment) & ip4::kDontFragment) != 0) return l;  // RFC 791 section 3.2: discarded
  l.piece = (mtu - l.out) / kUnit * kUnit;
  l.packets = (l.payload + l.piece - 1) / l.piece;
  return l;
}

}  // namespace dpubench::ip_fragment
