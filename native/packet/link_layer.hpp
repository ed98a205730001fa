// Finds the IP packet in a frame of any link type.
#pragma once

#include <cstdint>

#include "base/byte_order.hpp"
#include "packet/ip.hpp"

namespace dpubench::packet {

enum class Content : std::uint8_t {
  kIp,
  kOther,   ///< no visible IP (ARP, encrypted 802.11, unknown link type)
  kBroken,  ///< cut off or contradicting itself
};

/// The content of a frame.
struct Unwrapped {
  Content content = Content::kBroken;
  Extent extent{};   ///< extent of the packet, if it is IP
  wire::Bytes ip{};  ///< the packet without link padding, if it is IP
};

/// Remove link-layer headers, VLAN tags, MPLS labels and similar layers. @param link_type a number of the registry at
/// www.tcpdump.org/linktypes.html @param frame untrusted
Unwrapped unwrap(std::uint32_t link_type, wire::Bytes frame);

}  // namespace dpubench::packet
