// Reads packet captures: pcap and pcapng, every link type that carries IP. The input is untrusted. The parser skips and counts
// content that it can skip. It throws Error (file, byte offset, remedy) on content that is not a capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace dpubench::inputs {

/// One captured packet from its IP header on, without link-layer headers, VLAN tags and MPLS labels.
struct Packet {
  std::uint64_t time_ns = 0;       ///< recorded time since the epoch
  std::size_t offset = 0;          ///< offset of the IP header in Capture::bytes
  std::uint32_t length = 0;        ///< captured bytes from the IP header on, without link padding
  std::uint32_t frame_length = 0;  ///< length of the whole frame on the wire, without FCS
  std::uint8_t version = 4;        ///< 4 or 6
};

struct Capture {
  std::vector<std::byte> bytes;  ///< the packets, one after the other
  std::vector<Packet> packets;   ///< in file order
  std::uint64_t non_ip = 0;      ///< frames without visible IP (ARP, encrypted 802.11, unknown link type)
  std::uint64_t malformed = 0;   ///< frames with headers that are cut off or inconsistent
  bool truncated = false;        ///< the file ends inside a record
  [[nodiscard]] std::span<const std::byte> ip(const Packet& p) const { return {bytes.data() + p.offset, p.length}; }
  void append(const Capture& other);
};

/// Parse a whole capture file in memory. @param name used in messages. @throws Error
Capture parse_capture(std::span<const std::byte> file, const std::string& name);
/// Check that the capture holds an IP packet. @throws Error when it holds none
void require_packets(const Capture& capture, const std::string& name);
/// Read a capture file. @throws Error when it cannot be read, is no capture, or holds no IP packet
Capture read_capture(const std::filesystem::path& path);

}  // namespace dpubench::inputs
