// The Internet checksum (RFC 1071).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/byte_order.hpp"

namespace dpubench::checksum {

/// An unfolded one's complement sum of 16-bit words in the machine's own byte order. Swapping the bytes of the folded sum gives
/// the sum in the other order (RFC 1071 section 2 (B)), so no word is ever swapped. It has room for 2^32 words of 32 bits.
using Sum = std::uint64_t;

inline std::uint32_t load32(const std::byte* at) {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}
inline std::uint16_t load16(const std::byte* at) {
  std::uint16_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}
inline void store16(std::byte* at, std::uint16_t word) {
  std::memcpy(at, &word, sizeof word);
}

/// Add the last `length` (below 4) bytes of a message.
inline Sum add_tail(Sum sum, const std::byte* at, std::size_t length) {
  if ((length & 2U) != 0) sum += load16(at);
  if ((length & 1U) != 0) sum += wire::network16(std::to_integer<std::uint32_t>(at[length - 1]) << 8);
  return sum;
}

/// Add the words of a stretch that begins at an even offset of the message. A zero is assumed behind an odd last byte. The loop
/// adds 32 bits at a time in 64 (RFC 1071 section 2 (C), deferred carries), in a form that compilers turn into vector additions.
inline Sum add(Sum sum, const std::byte* at, std::size_t length) {
  const std::size_t words = length / 4;
  for (std::size_t i = 0; i < words; ++i) sum += load32(at + 4 * i);
  return add_tail(sum, at + 4 * words, length % 4);
}

/// Do the same while copying.
inline Sum copy_and_add(Sum sum, std::byte* to, const std::byte* from, std::size_t length) {
  const std::size_t words = length / 4;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint32_t word = load32(from + 4 * i);
    std::memcpy(to + 4 * i, &word, sizeof word);
    sum += word;
  }
  for (std::size_t i = 4 * words; i < length; ++i) to[i] = from[i];
  return add_tail(sum, from + 4 * words, length % 4);
}

/// Return the sum with its end-around carries added: 16 bits, in the machine's byte order.
inline std::uint16_t fold(Sum sum) {
  sum = (sum & 0xffffffffU) + (sum >> 32);
  sum = (sum & 0xffffU) + (sum >> 16);  // at most 0x2fffd
  sum = (sum & 0xffffU) + (sum >> 16);
  sum = (sum & 0xffffU) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

/// Return the checksum in the form that store16 writes to the packet.
inline std::uint16_t finish(Sum sum) {
  return static_cast<std::uint16_t>(~fold(sum));
}

}  // namespace dpubench::checksum
