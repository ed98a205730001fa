// Parses IP headers of captured packets: finds the length of a packet, its transport header and its payload. A capture may hold
// only the beginning of a packet, which frame.hpp would call malformed. Packets are untrusted.
#pragma once

#include <cstdint>
#include <optional>

#include "base/byte_order.hpp"

namespace dpubench::packet {

/// The facts in an IP header about its packet.
struct Extent {
  std::uint32_t version;
  std::uint32_t header;  ///< bytes of the fixed header with IPv4 options
  std::size_t length;    ///< length of the packet, at most the captured length
};

/// Return the extent of a packet, or nothing when the header is cut off or contradicts itself. A host's own captures show a
/// length of zero in packets that the device will segment. Such a packet extends to the end of the frame.
std::optional<Extent> ip_extent(wire::Bytes ip);

/// The places of transport header and payload in an IP packet. find_transport() returns false for a fragment other than the
/// first, a packet that is cut off, or a protocol other than TCP, UDP and SCTP.
struct Transport {
  std::uint8_t protocol = 0;
  std::uint32_t header = 0;   ///< offset of the transport header from the IP header
  std::uint32_t payload = 0;  ///< offset of the payload
  std::uint32_t end = 0;      ///< end of the payload by the IP length, at most the captured length
};
bool find_transport(wire::Bytes ip_packet, Transport& out);

}  // namespace dpubench::packet
