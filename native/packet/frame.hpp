// Finds the headers and the payload in an Ethernet frame, as a receiver does: lengths must agree with the frame. Frames are
// untrusted: nothing is read beyond `frame`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dpubench::packet {

enum class Kind : std::uint8_t {
  kTransport,  ///< IPv4 or IPv6 with a whole TCP, UDP or SCTP header
  kFragment,   ///< a fragment other than the first: no ports
  kOtherIp,    ///< another protocol (ICMP, ESP, an IP or GRE tunnel: only the outer packet is parsed)
  kNotIp,      ///< ARP and the like, and anything behind a third VLAN tag
  kShort,      ///< the frame ends inside a header
  kMalformed,  ///< a header contradicts itself or the frame's length; for example, the IP packet reaches behind the frame
};

/// The headers found in a frame. Offsets count from the frame's first byte. kTransport has all fields; kFragment and kOtherIp
/// have version, protocol, ip and end; the other kinds have none. Fields that a kind does not have are 0.
struct Parsed {
  Kind kind = Kind::kShort;
  std::uint8_t version = 0;     ///< 4 or 6
  std::uint8_t protocol = 0;    ///< IANA number, behind extension headers
  bool first_fragment = false;  ///< the first of several fragments: it has ports, but not the whole payload
  std::uint16_t ip = 0;         ///< behind Ethernet and up to two VLAN tags
  std::uint16_t transport = 0;
  std::uint16_t payload = 0;
  std::uint16_t end = 0;  ///< end of the IP packet by its length, never behind the frame: padding and trailer begin here
};

/// Parse one frame (without FCS, at most 65535 bytes).
Parsed parse(std::span<const std::byte> frame) noexcept;

/// Return whether the IPv4 header checksum, or the checksum of TCP or UDP, is right. Return true if there is none, or if the
/// frame does not hold all bytes that it covers (a first fragment). @param parsed  the result for `frame`
bool ip_checksum_valid(std::span<const std::byte> frame, const Parsed& parsed) noexcept;
bool transport_checksum_valid(std::span<const std::byte> frame, const Parsed& parsed) noexcept;
/// Write both checksums anew, where the frame holds all bytes that they cover. UDP gets a checksum even if the packet had none.
void set_checksums(std::span<std::byte> frame, const Parsed& parsed) noexcept;

}  // namespace dpubench::packet
