// Checks network interfaces of the kernel, for the kinds of ports that use one (af_packet, af_xdp, tap).
#pragma once

#include <cstdint>
#include <string>

#include "datapath/ports/port.hpp"

namespace dpubench::datapath {

/// Numbers of capabilities (capabilities(7)).
inline constexpr unsigned kCapNetAdmin = 12;
inline constexpr unsigned kCapNetRaw = 13;

/// Return why this process lacks a capability; empty if it has it. @param name  as in capabilities(7)
PortKind::Reason capability_missing(unsigned capability, const std::string& name);
/// Return why the kernel has no sockets of a family; empty if it has. A family that only root may use counts as present.
PortKind::Reason family_missing(int family, const std::string& name, const std::string& option);

/// The way in which an interface's XDP program is attached, as the kernel reports it (IFLA_XDP_ATTACHED).
enum class XdpMode : std::uint8_t { kNone, kNative, kGeneric, kOther };
XdpMode xdp_mode(const std::string& interface);

/// Require an interface. @throws Error unless it exists here, is up, and takes frames of `max_frame` bytes (with FCS)
void require_interface(const std::string& kind, const std::string& interface, std::uint32_t max_frame);

}  // namespace dpubench::datapath
