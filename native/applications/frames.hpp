// Reads the frames of a capture (pcap, pcapng), and writes captures. Files are untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dpubench::applications {

inline constexpr std::uint32_t kLinkEthernet = 1;
inline constexpr std::uint32_t kLinkRaw = 101;  ///< LINKTYPE_RAW: an IP header comes first

/// A reader that gives one frame after the other. It ignores a frame that is cut off at the end of the file.
class FrameReader {
 public:
  struct Frame {
    std::span<const std::byte> bytes;
    std::uint64_t time_us = 0;
  };
  /// @param name  used in messages @throws Error when the file is no capture
  FrameReader(std::span<const std::byte> file, const std::string& name);
  /// Read the next frame. @returns false at the end @throws Error on an impossible record
  bool next(Frame& frame);
  /// Return the link type of the last frame.
  [[nodiscard]] std::uint32_t link_type() const { return link_type_; }

 private:
  [[nodiscard]] std::uint32_t u32(std::size_t at) const;
  bool next_record(Frame& frame);
  bool next_block(Frame& frame);
  bool read_packet(std::size_t at, std::size_t end, Frame& frame);
  [[noreturn]] void refuse(std::size_t at, std::uint32_t bytes) const;

  std::span<const std::byte> file_;
  std::string name_;
  bool big_ = false;
  bool nano_ = false;
  bool in_blocks_ = false;                 ///< pcapng
  std::vector<std::uint32_t> interfaces_;  ///< link types of the section's interfaces
  std::uint32_t link_type_ = 0;
  std::size_t at_ = 0;
};

/// Append the header of a capture, little-endian, with times in microseconds.
void begin_capture(std::vector<std::byte>& to, std::uint32_t link_type);
void append_frame(std::vector<std::byte>& to, std::uint64_t time_us, std::uint32_t bytes);

}  // namespace dpubench::applications
