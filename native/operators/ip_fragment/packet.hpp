// The input of ip_fragment, and the layout and headers that all its engines share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "operators/support/division/segments.hpp"

namespace dpubench::ip_fragment {

using segments::Layout;

inline constexpr std::size_t kUnit = 8;  ///< fragment offsets count units of 8 bytes: RFC 791 section 3.1, RFC 8200 section 4.5
inline constexpr std::size_t kAuxBytes = 4;  ///< IPv6: the fragment header's identification, in network byte order

/// Return whether every fragment would have to carry this IPv6 extension header (hop-by-hop 0, routing 43), or whether it is the
/// fragment header itself (44).
inline bool stays_with_header(std::byte next) {
  return next == std::byte{packet::protocol::kHopByHop} || next == std::byte{packet::protocol::kRouting} ||
         next == std::byte{packet::protocol::kFragment};
}

/// Return the parts of `in` and the number of its packets. The number is 0 unless `in` is an IPv4 datagram without options (it
/// may itself be a fragment), or an IPv6 datagram whose extension headers all belong to the fragmentable part.
inline Layout layout(bool v4, std::size_t mtu, const std::byte* in, std::size_t length) {
  using namespace segments;
  Layout l;
  l.ip = v4 ? ip4::kHeader : ip6::kHeader;
  if (length < l.ip) return l;
  const bool whole = v4 ? in[0] == std::byte{0x45} && get16(in + ip4::kTotalLength) == length
                        : (in[0] >> 4) == std::byte{6} && get16(in + ip6::kPayloadLength) == length - l.ip &&
                              !stays_with_header(in[ip6::kNextHeader]);
  l.payload = length - l.ip;
  l.headers = l.ip;
  l.piece = l.payload;
  if (whole && length <= mtu) {
    l.packets = 1;
    return l;
  }
  if (!v4) l.headers += ip6::kFragmentHeader;
  if (!whole || mtu < l.headers + kUnit) return l;
  if (v4 && (get16(in + ip4::kFragment) & ip4::kDontFragment) != 0) return l;  // RFC 791 section 3.2: discarded
  l.piece = (mtu - l.headers) / kUnit * kUnit;
  // Packet lengths fit in 32 bits, and some CPUs divide 32-bit numbers several times faster than 64-bit ones.
  l.packets = static_cast<std::uint32_t>(l.payload + l.piece - 1) / static_cast<std::uint32_t>(l.piece);
  return l;
}

/// Write the headers of the fragment whose payload begins at `offset`, as in RFC 791 section 3.2 and RFC 8200 section 4.5. @param
/// in, aux  of the input @param more  whether more fragments of the input follow
template <bool V4>
inline void write_headers(std::byte* ip, const std::byte* in, const std::byte* aux, const Layout& l, std::size_t offset,
                          std::size_t payload, bool more) noexcept {
  using namespace segments;
  std::memcpy(ip, in, l.ip);
  if constexpr (V4) {
    put16(ip + ip4::kTotalLength, static_cast<std::uint32_t>(l.ip + payload));
    // The offset of a fragment of a fragment counts on from its place. Its last piece has more to follow if the input had.
    const std::uint32_t place = get16(in + ip4::kFragment) + static_cast<std::uint32_t>(offset / kUnit);
    put16(ip + ip4::kFragment, more ? place | ip4::kMoreFragments : place);
    put16(ip + ip4::kChecksum, 0);
    checksum::store16(ip + ip4::kChecksum, checksum::finish(checksum::add(0, ip, ip4::kHeader)));
  } else if (l.headers != l.ip) {
    std::byte* const header = ip + ip6::kHeader;
    put16(ip + ip6::kPayloadLength, static_cast<std::uint32_t>(ip6::kFragmentHeader + payload));
    header[0] = ip[ip6::kNextHeader];
    header[1] = std::byte{0};
    put16(header + 2, static_cast<std::uint32_t>(offset) | (more ? 1U : 0U));  // an offset in units of 8 bytes lies above three
                                                                               // other bits
    std::memcpy(header + 4, aux, kAuxBytes);
    ip[ip6::kNextHeader] = std::byte{packet::protocol::kFragment};
  }
}

}  // namespace dpubench::ip_fragment
