// The trailer: the last bytes of every frame that the client sends. It says which packet the frame is and when it was due.
// docs/end-to-end.md has the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace dpubench::datapath {

/// Bytes of the full trailer, and of the compact one. A frame that is too short for the full trailer behind Ethernet, IPv4 and
/// UDP headers carries the compact one.
inline constexpr std::uint32_t kTrailerBytes = 24;
inline constexpr std::uint32_t kCompactTrailerBytes = 18;
/// Shortest frame (buffer, without FCS) that carries the full trailer.
inline constexpr std::uint32_t kLeastFullFrame = 66;
/// Most packets of a trial, and most templates, that both forms can tell apart.
inline constexpr std::uint64_t kMaxPackets = std::uint64_t{1} << 40;
inline constexpr std::uint32_t kMaxTemplates = 1U << 24;

struct Trailer {
  std::uint16_t trial = 0;   ///< modulo 65536 (compact: modulo 256)
  std::uint64_t number = 0;  ///< number of the packet in its trial, from 0
  std::uint64_t due_ns = 0;  ///< due time since the trial's start
  std::uint32_t frame = 0;   ///< index of the template
};

/// Return the bytes that the trailer of a frame of this length takes. @param frame_bytes  without FCS
constexpr std::uint32_t trailer_bytes(std::uint32_t frame_bytes) {
  return frame_bytes < kLeastFullFrame ? kCompactTrailerBytes : kTrailerBytes;
}

/// Write the trailer over the last trailer_bytes() of a frame (without FCS). The frame must hold at least so many.
void write_trailer(std::span<std::byte> frame, const Trailer& trailer) noexcept;
/// Return the trailer of a frame, or nothing when there is none or its checksum is wrong. Frames are untrusted.
std::optional<Trailer> read_trailer(std::span<const std::byte> frame) noexcept;
/// Return whether a packet with this trailer belongs to a trial, whichever form the trailer had. A frame that grew on its way
/// (a digest in place of a short payload) has the full form, but with only the low bits of the trial, which is all that the
/// compact form holds.
constexpr bool belongs_to(const Trailer& trailer, std::uint32_t frame_bytes, std::uint32_t trial) {
  if (frame_bytes < kLeastFullFrame) return (trailer.trial & 0xffU) == (trial & 0xffU);
  return trailer.trial == (trial & 0xffffU) || trailer.trial == (trial & 0xffU);
}

}  // namespace dpubench::datapath
