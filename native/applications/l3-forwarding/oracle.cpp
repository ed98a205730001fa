#include "applications/l3-forwarding/oracle.hpp"

#include <initializer_list>

#include "applications/frames.hpp"
#include "base/byte_order.hpp"
#include "packet/checksum_oracle.hpp"
#include "packet/link_layer.hpp"

namespace dpubench::applications {

namespace {

bool begins_with(std::span<const std::byte> address, std::initializer_list<unsigned> bytes) {
  std::size_t i = 0;
  for (const unsigned byte : bytes) {
    if (std::to_integer<unsigned>(address[i++]) != byte) return false;
  }
  return true;
}

bool is_unicast(std::span<const std::byte> address) {
  const unsigned first = std::to_integer<unsigned>(address[0]);
  if (address.size() == 4) return first != 0 && first != 127 && first < 224;
  unsigned others = 0;
  for (std::size_t i = 0; i < 15; ++i) others |= std::to_integer<unsigned>(address[i]);
  if (others == 0 && std::to_integer<unsigned>(address[15]) < 2) return false;
  for (unsigned second = 0x80; second < 0xc0; ++second) {
    if (begins_with(address, {0xfe, second})) return false;
  }
  return first != 0xff;
}

/// Return a frame's IP packet and all bytes behind it. Empty if the frame's type does not name the packet's IP version.
std::span<const std::byte> network_packet(std::span<const std::byte> frame, std::uint32_t link_type) {
  if (link_type != kLinkEthernet) {
    const packet::Unwrapped inner = packet::unwrap(link_type, frame);
    return inner.content == packet::Content::kIp ? inner.ip : std::span<const std::byte>{};
  }
  std::size_t at = 12;
  for (int tags = 0; tags < 2 && at + 2 <= frame.size(); ++tags) {
    if (wire::be16(frame, at) == 0x8100 || wire::be16(frame, at) == 0x88a8) at += 4;
  }
  if (at + 3 > frame.size()) return {};
  const std::uint32_t version = wire::u8(frame, at + 2) >> 4;
  const bool agrees = (wire::be16(frame, at) == 0x0800 && version == 4) || (wire::be16(frame, at) == 0x86dd && version == 6);
  return agrees ? frame.subspan(at + 2) : std::span<const std::byte>{};
}

}  // namespace

std::uint32_t SlowTable::find(std::span<const std::byte> address) const {
  for (int length = static_cast<int>(address.size() * 8); length >= 0; --length) {
    const auto of_length = hops_.find(static_cast<std::uint8_t>(length));
    if (of_length == hops_.end()) continue;
    std::array<std::uint8_t, 16> masked{};
    for (int bit = 0; bit < length; ++bit) {
      const auto byte = static_cast<std::size_t>(bit / 8);
      masked[byte] = static_cast<std::uint8_t>(masked[byte] | (std::to_integer<unsigned>(address[byte]) & (0x80U >> (bit % 8))));
    }
    if (const auto found = of_length->second.find(masked); found != of_length->second.end()) return found->second;
  }
  return kMissed;
}

std::optional<Oracle::Sent> Oracle::forward(std::span<const std::byte> ip) const {
  if (ip.size() < 20) return std::nullopt;
  const bool is4 = wire::u8(ip, 0) >> 4 == 4;
  if (!is4 && (wire::u8(ip, 0) >> 4 != 6 || ip.size() < 40)) return std::nullopt;
  const std::size_t header = is4 ? (wire::u8(ip, 0) & 15U) * 4 : 40;
  const std::size_t length = is4 ? wire::be16(ip, 2) : 40 + wire::be16(ip, 4);
  if (header < 20 || length < header || length > ip.size()) return std::nullopt;
  if (is4 && checksum::plain_sum(0, ip.first(header)) != 0xffff) return std::nullopt;
  const auto source = is4 ? ip.subspan(12, 4) : ip.subspan(8, 16);
  const auto destination = is4 ? ip.subspan(16, 4) : ip.subspan(24, 16);
  if (!is_unicast(source) || !is_unicast(destination)) return std::nullopt;
  const std::size_t limit = is4 ? 8 : 7;
  if (wire::u8(ip, limit) < 2) return std::nullopt;
  const std::uint32_t hop = (is4 ? four_ : six_).find(destination);
  if (hop == kMissed) return std::nullopt;
  std::vector<std::byte> packet(ip.begin(), ip.begin() + static_cast<std::ptrdiff_t>(length));
  packet[limit] = static_cast<std::byte>(wire::u8(ip, limit) - 1);
  if (is4) {
    packet[10] = packet[11] = std::byte{0};
    const std::uint32_t checksum = ~checksum::plain_sum(0, std::span(packet).first(header)) & 0xffffU;
    packet[10] = static_cast<std::byte>(checksum >> 8);
    packet[11] = static_cast<std::byte>(checksum & 0xffU);
  }
  return Sent{hop, std::move(packet)};
}

std::optional<Oracle::Sent> Oracle::forward(std::span<const std::byte> frame, std::uint32_t link_type) const {
  return forward(network_packet(frame, link_type));
}

}  // namespace dpubench::applications
