// Frames of a capture (pcap, pcapng), header and all, and captures written. Files are untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dpubench::applications {

inline constexpr std::uint32_t kLinkEthernet = 1;
inline constexpr std::uint32_t kLinkRaw = 101;  ///< LINKTYPE_RAW: an IP header comes first

/// One frame after the other. What is cut off at the end of the file is no frame.
class FrameReader {
 public:
  struct Frame {
    std::span<const std::byte> bytes;
    std::uint64_t time_us = 0;
  };
  /// @param name  used in messages @throws Error when it is no capture
  FrameReader(std::span<const std::byte> file, const std::string& name);
  /// @returns false at the end @throws Error on a record that cannot be
  bool next(Frame& frame);
  /// Of the last frame.
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
  std::vector<std::uint32_t> interfaces_;  ///< of the section: their link types
  std::uint32_t link_type_ = 0;
  std::size_t at_ = 0;
};

/// Little-endian, in microseconds.
void begin_capture(std::vector<std::byte>& to, std::uint32_t link_type);
void append_frame(std::vector<std::byte>& to, std::uint64_t time_us, std::uint32_t bytes);

}  // namespace dpubench::applications
