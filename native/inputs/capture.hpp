// Packet captures: pcap and pcapng, every link type that carries IP. The parser takes untrusted input: it never throws on content
// it can pass over, counts what it passes over, and throws Error (file, byte offset, remedy) on content that is not a capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace dpubench::inputs {

/// One captured packet, from its IP header on (link-layer headers, VLAN tags and MPLS labels are taken off).
struct Packet {
  std::uint64_t time_ns = 0;       ///< since the epoch, as recorded
  std::size_t offset = 0;          ///< of the IP header in Capture::bytes
  std::uint32_t length = 0;        ///< captured bytes from the IP header on, without link padding
  std::uint32_t frame_length = 0;  ///< length of the whole frame on the wire, without FCS
  std::uint8_t version = 4;        ///< 4 or 6
};

struct Capture {
  std::vector<std::byte> bytes;  ///< the packets, one after the other
  std::vector<Packet> packets;   ///< in file order
  std::uint64_t non_ip = 0;      ///< frames that carry no IP in plain sight (ARP, encrypted 802.11, unknown link type)
  std::uint64_t malformed = 0;   ///< frames whose headers are cut off or inconsistent
  bool truncated = false;        ///< the file ends inside a record
  [[nodiscard]] std::span<const std::byte> ip(const Packet& p) const { return {bytes.data() + p.offset, p.length}; }
  void append(const Capture& other);
};

/// Parses a whole capture file held in memory. @param name used in messages. @throws Error
Capture parse_capture(std::span<const std::byte> file, const std::string& name);
/// @throws Error when the capture holds no IP packet at all
void require_packets(const Capture& capture, const std::string& name);
/// @throws Error when it cannot be read, is no capture, or holds no IP packet at all
Capture read_capture(const std::filesystem::path& path);

}  // namespace dpubench::inputs
