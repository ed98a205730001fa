// The input of tcp_segment, and the layout and headers that all its engines share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "operators/support/division/segments.hpp"

namespace dpubench::tcp_segment {

using segments::Layout;

/// Return the parts of `in` and the number of its packets. The number is 0 unless `in` is a whole TCP packet over IPv4 without
/// options or over IPv6 without extension headers, and the MTU leaves room for payload.
inline Layout layout(bool v4, std::size_t mtu, const std::byte* in, std::size_t length) {
  using namespace segments;
  Layout l;
  l.ip = v4 ? ip4::kHeader : ip6::kHeader;
  if (length < l.ip + tcp::kHeader) return l;
  const bool whole = v4 ? in[0] == std::byte{0x45} && in[ip4::kProtocol] == std::byte{packet::protocol::kTcp} &&
                              get16(in + ip4::kTotalLength) == length &&
                              (get16(in + ip4::kFragment) & (ip4::kMoreFragments | ip4::kOffsetMask)) == 0
                        : (in[0] >> 4) == std::byte{6} && in[ip6::kNextHeader] == std::byte{packet::protocol::kTcp} &&
                              get16(in + ip6::kPayloadLength) == length - l.ip;
  l.headers = l.ip + 4 * std::to_integer<std::size_t>(in[l.ip + tcp::kDataOffset] >> 4);
  if (!whole || l.headers < l.ip + tcp::kHeader || l.headers > length || l.headers >= mtu) return l;
  l.payload = length - l.headers;
  l.piece = mtu - l.headers;
  l.packets = std::max<std::size_t>(1, (l.payload + l.piece - 1) / l.piece);
  return l;
}

/// Return the flags of a packet: FIN and PSH belong to the last byte, CWR to the first packet (RFC 3168 section 6.1.2: set once).
inline std::byte flags_of(std::byte input, std::size_t index, std::size_t packets) {
  if (index + 1 != packets) input &= ~(segments::tcp::kFin | segments::tcp::kPsh);
  if (index != 0) input &= ~segments::tcp::kCwr;
  return input;
}

/// The common data of the headers of all packets of an input.
template <bool V4>
class Headers {
 public:
  Headers(const std::byte* in, const Layout& l) noexcept
      : in_(in),
        l_(l),
        // Pseudo header without the length (RFC 9293 section 3.1, RFC 8200 section 8.1).
        pseudo_(checksum::add(0, in + kAddresses, kAddressBytes) + wire::network16(packet::protocol::kTcp)),
        identification_(V4 ? segments::get16(in + segments::ip4::kIdentification) : 0),
        sequence_(segments::get32(in + l.ip + segments::tcp::kSequence)) {}

  /// Write the headers of packet `index`, whose payload begins at `offset`. @returns the sum over pseudo and TCP header
  checksum::Sum write(std::byte* ip, std::size_t index, std::size_t offset, std::size_t payload) const noexcept {
    using namespace segments;
    const std::size_t segment_length = l_.headers - l_.ip + payload;
    std::memcpy(ip, in_, l_.headers);
    if constexpr (V4) {
      put16(ip + ip4::kTotalLength, static_cast<std::uint32_t>(l_.headers + payload));
      put16(ip + ip4::kIdentification, identification_ + static_cast<std::uint32_t>(index));
      put16(ip + ip4::kChecksum, 0);
      checksum::store16(ip + ip4::kChecksum, checksum::finish(checksum::add(0, ip, ip4::kHeader)));
    } else {
      put16(ip + ip6::kPayloadLength, static_cast<std::uint32_t>(segment_length));
    }
    std::byte* const header = ip + l_.ip;
    put32(header + tcp::kSequence, sequence_ + static_cast<std::uint32_t>(offset));
    header[tcp::kFlags] = flags_of(header[tcp::kFlags], index, l_.packets);
    put16(header + tcp::kChecksum, 0);
    return checksum::add(pseudo_ + wire::network16(static_cast<std::uint32_t>(segment_length)), header, l_.headers - l_.ip);
  }

 private:
  static constexpr std::size_t kAddresses = V4 ? segments::ip4::kAddresses : segments::ip6::kAddresses;
  static constexpr std::size_t kAddressBytes = V4 ? segments::ip4::kAddressBytes : segments::ip6::kAddressBytes;
  const std::byte* in_;
  const Layout& l_;
  checksum::Sum pseudo_;
  std::uint32_t identification_;
  std::uint32_t sequence_;
};

}  // namespace dpubench::tcp_segment
