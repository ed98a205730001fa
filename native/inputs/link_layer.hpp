// From a frame of some link type to the IP packet in it.
#pragma once

#include <cstdint>

#include "inputs/byte_order.hpp"
#include "inputs/ip.hpp"

namespace dpubench::inputs {

enum class Content : std::uint8_t {
  kIp,
  kOther,   ///< no IP in plain sight (ARP, encrypted 802.11, unknown link type)
  kBroken,  ///< cut off or contradicting itself
};

/// What a frame holds.
struct Unwrapped {
  Content content = Content::kBroken;
  Extent extent{};   ///< of the packet, when it is IP
  wire::Bytes ip{};  ///< the packet without link padding, when it is IP
};

/// Takes link-layer headers, VLAN tags, MPLS labels and the like off. @param link_type a number of the registry at
/// www.tcpdump.org/linktypes.html @param frame untrusted
Unwrapped unwrap(std::uint32_t link_type, wire::Bytes frame);

}  // namespace dpubench::inputs
