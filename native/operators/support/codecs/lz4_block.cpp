#include "operators/support/codecs/lz4_block.hpp"

namespace dpubench::lz4 {
namespace {

constexpr std::size_t kLongLength = 15;  // after a nibble of this value in a token, more length bytes follow
constexpr std::size_t kMinMatch = GreedyMatches::kMinMatch;

std::byte* put_length(std::byte* to, std::size_t rest) noexcept {
  for (; rest >= 255; rest -= 255) *to++ = std::byte{255};
  *to++ = static_cast<std::byte>(rest);
  return to;
}

/// Write a token with its literals. @param length  length of the match that follows, minus kMinMatch
std::byte* put_literals(std::byte* to, const std::byte* to_end, const std::byte* literals, const std::byte* literals_end,
                        std::size_t count, std::size_t length) noexcept {
  *to++ = static_cast<std::byte>(std::min(count, kLongLength) << 4 | std::min(length, kLongLength));
  if (count >= kLongLength) to = put_length(to, count - kLongLength);
  copy_literals(to, to_end, literals, literals_end, count);
  return to + count;
}

/// Add the bytes of a long length to `length`. @returns false when the block ends first
bool take_length(const std::byte*& from, const std::byte* end, std::size_t& length) noexcept {
  for (;;) {
    if (from == end) return false;
    const auto more = std::to_integer<std::size_t>(*from++);
    length += more;
    if (more != 255) return true;
  }
}

}  // namespace

std::size_t encode(std::span<const std::byte> in, std::span<std::byte> out, GreedyMatches& matches) noexcept {
  if (out.size() < bound(in.size())) return 0;
  std::byte* to = out.data();
  const std::byte* const to_end = to + out.size();
  const std::byte* const in_end = in.data() + in.size();
  const std::size_t tail =
      matches(in, [&](const std::byte* literals, std::size_t count, std::size_t length, std::size_t distance) noexcept {
        length -= kMinMatch;
        to = put_literals(to, to_end, literals, in_end, count, length);
        store_le16(to, static_cast<std::uint16_t>(distance));
        to += 2;
        if (length >= kLongLength) to = put_length(to, length - kLongLength);
      });
  to = put_literals(to, to_end, in.data() + tail, in_end, in.size() - tail, 0);
  return static_cast<std::size_t>(to - out.data());
}

std::optional<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  const std::byte* from = in.data();
  const std::byte* const from_end = from + in.size();
  std::byte* to = out.data();
  const std::byte* const to_end = to + out.size();
  for (;;) {
    if (from == from_end) return std::nullopt;
    const auto token = std::to_integer<std::size_t>(*from++);
    std::size_t count = token >> 4;
    if (count == kLongLength && !take_length(from, from_end, count)) return std::nullopt;
    if (count > static_cast<std::size_t>(from_end - from) || count > static_cast<std::size_t>(to_end - to)) return std::nullopt;
    copy_literals(to, to_end, from, from_end, count);
    from += count;
    to += count;
    if (from == from_end) return static_cast<std::size_t>(to - out.data());  // the last sequence is literals only
    if (from_end - from < 2) return std::nullopt;
    const std::size_t distance = load_le16(from);
    from += 2;
    if (distance == 0 || distance > static_cast<std::size_t>(to - out.data())) return std::nullopt;
    std::size_t length = token & 0xF;
    if (length == kLongLength && !take_length(from, from_end, length)) return std::nullopt;
    length += kMinMatch;
    if (length > static_cast<std::size_t>(to_end - to)) return std::nullopt;
    copy_match(to, to_end, distance, length);
    to += length;
  }
}

}  // namespace dpubench::lz4
