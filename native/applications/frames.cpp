#include "applications/frames.hpp"

#include "base/error.hpp"
#include "inputs/byte_order.hpp"

namespace dpubench::applications {

namespace {

// The format: draft-ietf-opsawg-pcap, sections 4 and 5.
constexpr std::uint32_t kMicro = 0xa1b2c3d4;
constexpr std::uint32_t kNano = 0xa1b23c4d;
constexpr std::uint32_t kPcapng = 0x0a0d0d0a;
constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kRecordHeader = 16;
constexpr std::uint32_t kMostFrame = 262'144;

void append_u32(std::vector<std::byte>& to, std::uint64_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) to.push_back(static_cast<std::byte>(value >> shift & 0xffU));
}

}  // namespace

FrameReader::FrameReader(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {
  const std::uint32_t magic = file.size() < kFileHeader ? 0 : inputs::wire::le32(file, 0);
  const std::uint32_t swapped = __builtin_bswap32(magic);
  big_ = swapped == kMicro || swapped == kNano;
  nano_ = magic == kNano || swapped == kNano;
  if (!big_ && magic != kMicro && magic != kNano) {
    throw Error("capture " + name + (magic == kPcapng ? ": is pcapng, and pcap is read here: convert it with `editcap -F pcap`"
                                                      : ": is no capture: give a pcap file"));
  }
  link_type_ = u32(20) & 0x0fffffffU;
  at_ = kFileHeader;
}

std::uint32_t FrameReader::u32(std::size_t at) const {
  return big_ ? inputs::wire::be32(file_, at) : inputs::wire::le32(file_, at);
}

bool FrameReader::next(Frame& frame) {
  if (file_.size() - at_ < kRecordHeader) return false;
  const std::uint32_t captured = u32(at_ + 8);
  if (captured > kMostFrame) {
    throw Error("capture " + name_ + ": the record at byte " + std::to_string(at_) + " holds " + std::to_string(captured) +
                " bytes, more than any frame has: the file is damaged");
  }
  if (file_.size() - at_ - kRecordHeader < captured) return false;
  frame.time_us = std::uint64_t{u32(at_)} * 1'000'000U + u32(at_ + 4) / (nano_ ? 1000U : 1U);
  frame.bytes = file_.subspan(at_ + kRecordHeader, captured);
  at_ += kRecordHeader + captured;
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
