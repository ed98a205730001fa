// Where in an Ethernet frame the headers and the payload lie. Frames are untrusted: nothing is read beyond `frame`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dpubench::datapath {

enum class Kind : std::uint8_t {
  kTransport,  ///< IPv4 or IPv6 with a whole TCP, UDP or SCTP header
  kFragment,   ///< a fragment other than the first: no ports
  kOtherIp,    ///< another protocol (ICMP, ESP, an IP or GRE tunnel: the outer packet is what is parsed)
  kNotIp,      ///< ARP and the like, and what lies behind a third VLAN tag
  kShort,      ///< ends inside a header
  kMalformed,  ///< a header contradicts itself or the frame's length: the IP packet would reach behind the frame, say
};

/// Offsets are from the frame's first byte. Those behind what `kind` vouches for are 0: kTransport has all, kFragment and
/// kOtherIp version, protocol, ip and end, the others none.
struct Parsed {
  Kind kind = Kind::kShort;
  std::uint8_t version = 0;     ///< 4 or 6
  std::uint8_t protocol = 0;    ///< IANA number, behind extension headers
  bool first_fragment = false;  ///< of several: ports are there, the payload is not whole
  std::uint16_t ip = 0;         ///< behind Ethernet and up to two VLAN tags
  std::uint16_t transport = 0;
  std::uint16_t payload = 0;
  std::uint16_t end = 0;  ///< of the IP packet as its length says, never behind the frame: padding and trailer begin here
};

/// Parses one frame (without FCS, at most 65535 bytes).
Parsed parse(std::span<const std::byte> frame) noexcept;

/// Whether the IPv4 header checksum, or the checksum of TCP or UDP, is right; true where there is none, and where the frame does
/// not hold all that it covers (a first fragment). @param parsed of `frame`
bool ip_checksum_valid(std::span<const std::byte> frame, const Parsed& parsed) noexcept;
bool transport_checksum_valid(std::span<const std::byte> frame, const Parsed& parsed) noexcept;
/// Writes both checksums anew, where the frame holds what they cover. UDP gets one even where the packet had none.
void set_checksums(std::span<std::byte> frame, const Parsed& parsed) noexcept;

}  // namespace dpubench::datapath
