#include "operators/support/codecs/snappy_format.hpp"

#include <algorithm>

namespace dpubench::snappy_format {
namespace {

enum Tag : unsigned { kLiteral = 0, kCopy1 = 1, kCopy2 = 2, kCopy4 = 3 };  // format description, section 2

std::byte* put_literal(std::byte* to, const std::byte* to_end, const std::byte* from, const std::byte* from_end,
                       std::size_t count) noexcept {
  if (count == 0) return to;
  const std::size_t value = count - 1;
  if (value < 60) {
    *to++ = static_cast<std::byte>(value << 2 | kLiteral);
  } else {
    const auto bytes = static_cast<std::size_t>(std::bit_width(value) + 7) / 8;
    *to++ = static_cast<std::byte>((59 + bytes) << 2 | kLiteral);
    for (std::size_t i = 0; i < bytes; ++i) *to++ = static_cast<std::byte>(value >> 8 * i);
  }
  copy_literals(to, to_end, from, from_end, count);
  return to + count;
}

std::byte* put_copy2(std::byte* to, std::size_t length, std::size_t distance) noexcept {
  *to++ = static_cast<std::byte>((length - 1) << 2 | kCopy2);
  store_le16(to, static_cast<std::uint16_t>(distance));
  return to + 2;
}

std::byte* put_match(std::byte* to, std::size_t length, std::size_t distance) noexcept {
  // The rest must not fall below four bytes, the least length of a short copy.
  for (; length >= 68; length -= 64) to = put_copy2(to, 64, distance);
  if (length > 64) {
    to = put_copy2(to, 60, distance);
    length -= 60;
  }
  if (length >= 12 || distance >= 2048) return put_copy2(to, length, distance);
  *to++ = static_cast<std::byte>((distance >> 8) << 5 | (length - 4) << 2 | kCopy1);
  *to++ = static_cast<std::byte>(distance);
  return to;
}

/// Read the uncompressed length in front: a little-endian base-128 number of at most 32 bits.
std::optional<std::size_t> take_size(const std::byte*& from, const std::byte* end) noexcept {
  std::uint64_t size = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (from == end) return std::nullopt;
    const auto value = std::to_integer<std::uint64_t>(*from++);
    size |= (value & 0x7F) << shift;
    if ((value & 0x80) == 0) return size <= 0xFFFFFFFFU ? std::optional<std::size_t>(size) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::size_t encode(std::span<const std::byte> in, std::span<std::byte> out, GreedyMatches& matches) noexcept {
  if (out.size() < bound(in.size())) return 0;
  std::byte* to = out.data();
  const std::byte* const to_end = to + out.size();
  const std::byte* const in_end = in.data() + in.size();
  std::size_t size = in.size();
  for (; size >= 0x80; size >>= 7) *to++ = static_cast<std::byte>(size | 0x80);
  *to++ = static_cast<std::byte>(size);
  const std::size_t tail =
      matches(in, [&](const std::byte* literals, std::size_t count, std::size_t length, std::size_t distance) noexcept {
        to = put_literal(to, to_end, literals, in_end, count);
        to = put_match(to, length, distance);
      });
  to = put_literal(to, to_end, in.data() + tail, in_end, in.size() - tail);
  return static_cast<std::size_t>(to - out.data());
}

std::optional<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  const std::byte* from = in.data();
  const std::byte* const from_end = from + in.size();
  const std::optional<std::size_t> size = take_size(from, from_end);
  if (!size || *size > out.size()) return std::nullopt;
  std::byte* to = out.data();
  const std::byte* const to_end = to + *size;
  while (from != from_end) {
    const auto tag = std::to_integer<std::size_t>(*from++);
    const auto left = static_cast<std::size_t>(from_end - from);
    if ((tag & 3) == kLiteral) {
      std::size_t count = tag >> 2;
      if (count >= 60) {
        const std::size_t bytes = count - 59;
        if (bytes > left) return std::nullopt;
        count = 0;
        for (std::size_t i = 0; i < bytes; ++i) count |= std::to_integer<std::size_t>(*from++) << 8 * i;
      }
      ++count;
      if (count > static_cast<std::size_t>(from_end - from) || count > static_cast<std::size_t>(to_end - to)) return std::nullopt;
      copy_literals(to, to_end, from, from_end, count);
      from += count;
      to += count;
      continue;
    }
    std::size_t length = (tag >> 2) + 1;
    std::size_t distance = 0;
    if ((tag & 3) == kCopy1) {
      if (left < 1) return std::nullopt;
      length = (tag >> 2 & 7) + 4;
      distance = (tag >> 5) << 8 | std::to_integer<std::size_t>(*from);
      from += 1;
    } else if ((tag & 3) == kCopy2) {
      if (left < 2) return std::nullopt;
      distance = load_le16(from);
      from += 2;
    } else {
      if (left < 4) return std::nullopt;
      distance = load_le32(from);
      from += 4;
    }
    if (distance == 0 || distance > static_cast<std::size_t>(to - out.data()) || length > static_cast<std::size_t>(to_end - to)) {
      return std::nullopt;
    }
    copy_match(to, to_end, distance, length);
    to += length;
  }
  return to == to_end ? size : std::nullopt;
}

}  // namespace dpubench::snappy_format
