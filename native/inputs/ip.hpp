// IP headers: how far a packet reaches, and where its transport header and payload lie. Packets are untrusted.
#pragma once

#include <cstdint>
#include <optional>

#include "inputs/byte_order.hpp"

namespace dpubench::inputs {

/// What an IP header says of its packet.
struct Extent {
  std::uint32_t version;
  std::uint32_t header;  ///< bytes of the fixed header with IPv4 options
  std::size_t length;    ///< of the packet, at most what was captured
};

/// Nothing when the header is cut off or contradicts itself. A length of zero is what a host's own captures show of packets that
/// the device is to segment: such a packet goes to the end of the frame.
std::optional<Extent> ip_extent(wire::Bytes ip);

/// Where in an IP packet its transport header and payload lie; false when it is a non-first fragment, cut off, or not
/// TCP/UDP/SCTP.
struct Transport {
  std::uint8_t protocol = 0;
  std::uint32_t header = 0;   ///< offset of the transport header from the IP header
  std::uint32_t payload = 0;  ///< offset of the payload
  std::uint32_t end = 0;      ///< end of the payload by the IP length, at most the captured length
};
bool find_transport(wire::Bytes ip_packet, Transport& out);

}  // namespace dpubench::inputs
