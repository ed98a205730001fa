#include "applications/frames.hpp"

#include "base/byte_order.hpp"
#include "base/error.hpp"

namespace dpubench::applications {

namespace {

// Values of the format: draft-ietf-opsawg-pcap, sections 4 and 5.
constexpr std::uint32_t kMicro = 0xa1b2c3d4;
constexpr std::uint32_t kNano = 0xa1b23c4d;
constexpr std::uint32_t kSection = 0x0a0d0d0a;  // the same in either byte order
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::size_t kLeastBlock = 12;
constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kRecordHeader = 16;
constexpr std::uint32_t kMostFrame = 262'144;

void append_u32(std::vector<std::byte>& to, std::uint64_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) to.push_back(static_cast<std::byte>(value >> shift & 0xffU));
}

}  // namespace

FrameReader::FrameReader(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {
  const std::uint32_t magic = file.size() < kFileHeader ? 0 : wire::le32(file, 0);
  const std::uint32_t swapped = __builtin_bswap32(magic);
  in_blocks_ = magic == kSection;
  if (in_blocks_) return;
  big_ = swapped == kMicro || swapped == kNano;
  nano_ = magic == kNano || swapped == kNano;
  if (!big_ && magic != kMicro && magic != kNano)
    throw Error("capture " + name + ": is not a capture: give a pcap or pcapng file");
  link_type_ = u32(20) & 0x0fffffffU;
  at_ = kFileHeader;
}

std::uint32_t FrameReader::u32(std::size_t at) const {
  return big_ ? wire::be32(file_, at) : wire::le32(file_, at);
}

void FrameReader::refuse(std::size_t at, std::uint32_t bytes) const {
  throw Error("capture " + name_ + ": the record at byte " + std::to_string(at) + " claims " + std::to_string(bytes) +
              " bytes, which is impossible: the file is damaged");
}

bool FrameReader::next(Frame& frame) {
  return in_blocks_ ? next_block(frame) : next_record(frame);
}

bool FrameReader::next_record(Frame& frame) {
  if (file_.size() - at_ < kRecordHeader) return false;
  const std::uint32_t captured = u32(at_ + 8);
  if (captured > kMostFrame) refuse(at_, captured);
  if (file_.size() - at_ - kRecordHeader < captured) return false;
  frame.time_us = std::uint64_t{u32(at_)} * 1'000'000U + u32(at_ + 4) / (nano_ ? 1000U : 1U);
  frame.bytes = file_.subspan(at_ + kRecordHeader, captured);
  at_ += kRecordHeader + captured;
  return true;
}

/// Read the next packet of a pcapng file (draft-ietf-opsawg-pcapng, sections 3.1 and 4).
bool FrameReader::next_block(Frame& frame) {
  while (file_.size() - at_ >= kLeastBlock) {
    const std::size_t at = at_;
    if (wire::le32(file_, at) == kSection) {
      big_ = wire::be32(file_, at + 8) == kByteOrder;
      interfaces_.clear();
    }
    const std::uint32_t type = u32(at);
    const std::uint32_t length = u32(at + 4);
    if (length < kLeastBlock || length % 4 != 0) refuse(at, length);
    if (file_.size() - at < length) return false;
    at_ += length;
    const std::size_t end = at_ - 4;
    if (type == kInterface && length >= 20) {
      interfaces_.push_back(big_ ? wire::be16(file_, at + 8) : wire::le16(file_, at + 8));
    } else if (type == kEnhancedPacket && length >= 32 && read_packet(at + 8, end, frame)) {
      return true;
    }
  }
  return false;
}

/// Read an Enhanced Packet Block. @param at, end  its body, of at least 20 bytes
/// @returns false when the file does not describe its interface
bool FrameReader::read_packet(std::size_t at, std::size_t end, Frame& frame) {
  const std::uint32_t interface = u32(at);
  const std::uint32_t captured = u32(at + 12);
  if (captured > end - at - 20) refuse(at, captured);
  if (interface >= interfaces_.size()) return false;
  link_type_ = interfaces_[interface];
  // The unit is microseconds unless the interface says otherwise. No result depends on it.
  frame.time_us = std::uint64_t{u32(at + 4)} << 32 | u32(at + 8);
  frame.bytes = file_.subspan(at + 20, captured);
  return true;
}

void begin_capture(std::vector<std::byte>& to, std::uint32_t link_type) {
  append_u32(to, kMicro);
  append_u32(to, 2U | 4U << 16);  // version 2.4
  append_u32(to, 0);
  append_u32(to, 0);
  append_u32(to, kMostFrame);
  append_u32(to, link_type);
}

void append_frame(std::vector<std::byte>& to, std::uint64_t time_us, std::uint32_t bytes) {
  append_u32(to, time_us / 1'000'000U);
  append_u32(to, time_us % 1'000'000U);
  append_u32(to, bytes);
  append_u32(to, bytes);
}

}  // namespace dpubench::applications
