// Network interfaces of the kernel, for the kinds of ports that stand on one (af_packet, af_xdp, tap).
#pragma once

#include <cstdint>
#include <string>

#include "datapath/ports/port.hpp"

namespace dpubench::datapath {

/// Capabilities of capabilities(7).
inline constexpr unsigned kCapNetAdmin = 12;
inline constexpr unsigned kCapNetRaw = 13;

/// Why this process may not do what needs a capability; empty if it may. @param name  as capabilities(7) has it
PortKind::Reason capability_missing(unsigned capability, const std::string& name);
/// Why the kernel has no sockets of a family; empty if it has. A family that only root may use counts as there.
PortKind::Reason family_missing(int family, const std::string& name, const std::string& option);

/// How an interface's XDP program is attached, as the kernel tells (IFLA_XDP_ATTACHED).
enum class XdpMode : std::uint8_t { kNone, kNative, kGeneric, kOther };
XdpMode xdp_mode(const std::string& interface);

/// @throws Error unless there is such an interface here, it is up, and it takes frames of `max_frame` bytes (with FCS)
void require_interface(const std::string& kind, const std::string& interface, std::uint32_t max_frame);

}  // namespace dpubench::datapath
