#include "datapath/workloads/application-recognition/reply.hpp"

#include <algorithm>
#include <cstring>

#include "base/byte_order.hpp"
#include "datapath/workloads/swapped.hpp"
#include "packet/checksum.hpp"

namespace dpubench::datapath::recognition {
namespace {

using checksum::load16;
using checksum::store16;
using wire::network16;

constexpr std::uint32_t kLeastFrame = kMinFrame - kFcsBytes;
constexpr std::uint16_t kHashType = network16(0x88b5);
constexpr std::uint16_t kCompressType = network16(0x88b6);

}  // namespace

const char* class_name(Class c) noexcept {
  switch (c) {
    case Class::kHash:
      return "hash";
    case Class::kCompress:
      return "compress";
    case Class::kEcho:
      break;
  }
  return "echo";
}

std::uint32_t frame_bytes(std::uint32_t packet_end, bool has_trailer) noexcept {
  if (!has_trailer) return std::max(packet_end, kLeastFrame);
  // A frame that is long enough for the full form with its compact trailer gets the full form.
  const bool compact = packet_end + kCompactTrailerBytes < kLeastFullFrame;
  return packet_end + (compact ? kCompactTrailerBytes : kTrailerBytes);
}

void finish_reply(std::span<std::byte> frame, const packet::Parsed& parsed, std::uint32_t payload_bytes,
                  const std::optional<Trailer>& trailer) noexcept {
  std::byte* const f = frame.data();
  packet::Parsed reply = parsed;
  reply.end = static_cast<std::uint16_t>(parsed.payload + payload_bytes);
  swap_addresses(f);
  if (parsed.version == 4) {
    store16(f + parsed.ip + packet::ip4::kTotalLength, network16(std::uint32_t{reply.end} - parsed.ip));
  } else {
    store16(f + parsed.ip + packet::ip6::kPayloadLength,
            network16(static_cast<std::uint32_t>(reply.end - parsed.ip - packet::ip6::kHeader)));
  }
  if (parsed.protocol == packet::protocol::kUdp) {
    store16(f + parsed.transport + packet::udp::kLength, network16(std::uint32_t{reply.end} - parsed.transport));
  }
  packet::set_checksums(frame, reply);
  std::fill(frame.begin() + reply.end, frame.end(), std::byte{});
  if (trailer) write_trailer(frame, *trailer);
}

void mark(std::byte* frame, const packet::Parsed& parsed, Class c) noexcept {
  store16(frame + parsed.ip - 2, c == Class::kHash ? kHashType : kCompressType);
}

std::optional<Class> unmark(std::span<std::byte> frame) noexcept {
  std::size_t at = kEthernetBytes;
  for (int tags = 0; tags < 2 && frame.size() > at + 4 && packet::ethernet::is_tag(wire::get16(frame.data() + at - 2)); ++tags)
    at += 4;
  if (frame.size() <= at) return std::nullopt;
  const std::uint16_t type = load16(frame.data() + at - 2);
  if (type != kHashType && type != kCompressType) return std::nullopt;
  const bool is_ipv4 = wire::u8(frame, at) >> 4 == 4;
  store16(frame.data() + at - 2, network16(is_ipv4 ? packet::ethernet::kIp4 : packet::ethernet::kIp6));
  return type == kHashType ? Class::kHash : Class::kCompress;
}

}  // namespace dpubench::datapath::recognition
