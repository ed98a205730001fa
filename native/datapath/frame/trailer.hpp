// The last bytes of every frame that the client sends: which packet it is and when it was due. docs/end-to-end.md has the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace dpubench::datapath {

/// Bytes of the trailer, and of the compact one of frames that are too short for it behind Ethernet, IPv4 and UDP headers.
inline constexpr std::uint32_t kTrailerBytes = 24;
inline constexpr std::uint32_t kCompactTrailerBytes = 18;
/// Shortest frame (buffer, without FCS) that carries the full one.
inline constexpr std::uint32_t kLeastFullFrame = 66;
/// Most packets of a trial, and most templates, that both forms can tell apart.
inline constexpr std::uint64_t kMaxPackets = std::uint64_t{1} << 40;
inline constexpr std::uint32_t kMaxTemplates = 1U << 24;

struct Trailer {
  std::uint16_t trial = 0;   ///< modulo 65536 (compact: modulo 256)
  std::uint64_t number = 0;  ///< of the packet in its trial, from 0
  std::uint64_t due_ns = 0;  ///< since the trial's start
  std::uint32_t frame = 0;   ///< index of the template
};

/// Bytes that the trailer of a frame of this length takes. @param frame_bytes without FCS
constexpr std::uint32_t trailer_bytes(std::uint32_t frame_bytes) {
  return frame_bytes < kLeastFullFrame ? kCompactTrailerBytes : kTrailerBytes;
}

/// Writes the trailer over the last trailer_bytes() of a frame (without FCS), which holds at least so many.
void write_trailer(std::span<std::byte> frame, const Trailer& trailer) noexcept;
/// The trailer of a frame; nothing when there is none or its checksum is wrong. Frames are untrusted.
std::optional<Trailer> read_trailer(std::span<const std::byte> frame) noexcept;
/// Whether a packet with this trailer belongs to a trial, whichever form it came in. A frame that grew on its way (a digest in
/// place of a short payload) has the full form with what the compact one could tell: the low bits of the trial.
constexpr bool belongs_to(const Trailer& trailer, std::uint32_t frame_bytes, std::uint32_t trial) {
  if (frame_bytes < kLeastFullFrame) return (trailer.trial & 0xffU) == (trial & 0xffU);
  return trailer.trial == (trial & 0xffffU) || trailer.trial == (trial & 0xffU);
}

}  // namespace dpubench::datapath
