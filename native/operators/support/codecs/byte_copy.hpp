// Little-endian loads and stores, and the copies that decoders of LZ77 formats need.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dpubench {

namespace detail {
template <class T>
T from_little(T value) noexcept {
  if constexpr (std::endian::native == std::endian::little) return value;
  T swapped = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) swapped = static_cast<T>(swapped << 8 | (value >> (8 * i) & 0xFF));
  return swapped;
}
template <class T>
T load_little(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return from_little(value);
}
}  // namespace detail

inline std::uint16_t load_le16(const std::byte* at) noexcept {
  return detail::load_little<std::uint16_t>(at);
}
inline std::uint32_t load_le32(const std::byte* at) noexcept {
  return detail::load_little<std::uint32_t>(at);
}
inline std::uint64_t load_le64(const std::byte* at) noexcept {
  return detail::load_little<std::uint64_t>(at);
}
inline void store_le16(std::byte* at, std::uint16_t value) noexcept {
  value = detail::from_little(value);
  std::memcpy(at, &value, sizeof value);
}
inline void store_le64(std::byte* at, std::uint64_t value) noexcept {
  value = detail::from_little(value);
  std::memcpy(at, &value, sizeof value);
}

/// Return the number of equal bytes at `a` and `b` before `a` reaches `a_end`. `b` lies before `a`.
inline std::size_t common_length(const std::byte* a, const std::byte* b, const std::byte* a_end) noexcept {
  const std::byte* const start = a;
  while (a_end - a >= 8) {
    const std::uint64_t difference = load_le64(a) ^ load_le64(b);
    if (difference != 0) return static_cast<std::size_t>(a - start) + static_cast<std::size_t>(std::countr_zero(difference) / 8);
    a += 8;
    b += 8;
  }
  while (a != a_end && *a == *b) {
    ++a;
    ++b;
  }
  return static_cast<std::size_t>(a - start);
}

/// Copy `length` bytes between places that do not overlap. Most copies are short, and become two 16-byte moves if both sides have
/// that much room. Such a copy reads and writes 32 bytes, also behind `length`, but never beyond the two ends.
inline void copy_literals(std::byte* to, const std::byte* to_end, const std::byte* from, const std::byte* from_end,
                          std::size_t length) noexcept {
  if (length <= 32 && to_end - to >= 32 && from_end - from >= 32) {
    std::memcpy(to, from, 16);
    std::memcpy(to + 16, from + 16, 16);
  } else if (length != 0) {
    std::memcpy(to, from, length);
  }
}

/// Copy `length` bytes from `distance` bytes before `to`. If the two places overlap, the bytes repeat (RFC 1951 section 3.2.3).
/// Up to 16 bytes behind `length` may be written, but never beyond `to_end`. The caller makes sure that `to + length <= to_end`
/// and that `distance` (at least 1) stays in the output.
inline void copy_match(std::byte* to, const std::byte* to_end, std::size_t distance, std::size_t length) noexcept {
  std::byte* const end = to + length;
  if (static_cast<std::size_t>(to_end - to) < length + 16) {
    for (; to != end; ++to) *to = *(to - distance);
    return;
  }
  if (distance >= 16) {
    do {
      std::memcpy(to, to - distance, 16);
      to += 16;
    } while (to < end);
    return;
  }
  if (distance < 8) {
    // After eight single bytes, the same bytes also lie a whole number of periods further back: at least eight bytes.
    for (int i = 0; i < 8; ++i, ++to) *to = *(to - distance);
    distance = (7 / distance + 1) * distance;
  }
  for (; to < end; to += 8) std::memcpy(to, to - distance, 8);
}

}  // namespace dpubench
