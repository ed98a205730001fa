// The DER encoding of a DSA signature, SEQUENCE {r INTEGER, s INTEGER} (RFC 3279 section 2.2.2, ITU-T X.690), without allocating.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dpubench::dsa {

/// Bytes of r and of s, which are smaller than a q of 256 bits.
inline constexpr std::size_t kNumberBytes = 32;
/// Bytes of the longest encoding: two INTEGERs with a leading zero, and 2 bytes of tag and length for each of the three values.
inline constexpr std::size_t kMostSignatureBytes = 2 + 2 * (2 + 1 + kNumberBytes);

/// A signature as two big-endian numbers with leading zeros.
struct Signature {
  std::array<std::uint8_t, kNumberBytes> r, s;
};

namespace detail {

inline constexpr std::uint8_t kInteger = 0x02;
inline constexpr std::uint8_t kSequence = 0x30;

/// Take an INTEGER from the beginning of `der`. @returns false if it is no INTEGER in DER, negative, or longer than 32 bytes
inline bool take(std::span<const std::uint8_t>& der, std::array<std::uint8_t, kNumberBytes>& number) noexcept {
  if (der.size() < 3 || der[0] != kInteger) return false;
  const std::size_t length = der[1];
  if (length == 0 || length > kNumberBytes + 1 || length > der.size() - 2) return false;
  std::span<const std::uint8_t> digits = der.subspan(2, length);
  der = der.subspan(2 + length);
  if ((digits[0] & 0x80U) != 0) return false;
  // X.690 section 8.3.2: a leading zero is allowed only if the number would be negative without it.
  if (digits[0] == 0 && length > 1) {
    if ((digits[1] & 0x80U) == 0) return false;
    digits = digits.subspan(1);
  }
  if (digits.size() > kNumberBytes) return false;
  std::copy(digits.begin(), digits.end(), number.end() - static_cast<std::ptrdiff_t>(digits.size()));
  return true;
}

inline std::uint8_t* put(std::span<const std::uint8_t> number, std::uint8_t* to) noexcept {
  while (number.size() > 1 && number[0] == 0) number = number.subspan(1);
  const bool zero_in_front = number.empty() || (number[0] & 0x80U) != 0;
  *to++ = kInteger;
  *to++ = static_cast<std::uint8_t>(number.size() + (zero_in_front ? 1 : 0));
  if (zero_in_front) *to++ = 0;
  return std::copy(number.begin(), number.end(), to);
}

}  // namespace detail

/// Decode a signature. @returns false, with zeros in `signature`, if `der` is no encoding of one
inline bool decode(std::span<const std::byte> der, Signature& signature) noexcept {
  signature = {};
  std::span<const std::uint8_t> left(reinterpret_cast<const std::uint8_t*>(der.data()), der.size());
  if (left.size() < 2 || left.size() > kMostSignatureBytes || left[0] != detail::kSequence || left[1] != left.size() - 2)
    return false;
  left = left.subspan(2);
  if (detail::take(left, signature.r) && detail::take(left, signature.s) && left.empty()) return true;
  signature = {};
  return false;
}

/// Encode a signature. @param r,s  big-endian, at most 32 bytes @param out  room for kMostSignatureBytes @returns bytes written
inline std::uint32_t encode(std::span<const std::uint8_t> r, std::span<const std::uint8_t> s, std::byte* out) noexcept {
  auto* const begin = reinterpret_cast<std::uint8_t*>(out);
  std::uint8_t* const end = detail::put(s, detail::put(r, begin + 2));
  begin[0] = detail::kSequence;
  begin[1] = static_cast<std::uint8_t>(end - begin - 2);
  return static_cast<std::uint32_t>(end - begin);
}

}  // namespace dpubench::dsa
