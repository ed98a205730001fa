// Writes a trailer from registers, for the packet loop. It puts fields together in words, so that the checksum does not wait
// for stores of other widths to reach memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datapath/frame/crc32c.hpp"
#include "datapath/frame/trailer.hpp"

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace dpubench::datapath {
namespace detail {

/// Return the CRC-32C of the first `kBytes` (14 or 20) of words in little-endian order.
template <unsigned kBytes>
inline std::uint32_t crc_of_words(std::uint64_t first, std::uint64_t second, std::uint32_t third) noexcept {
  static_assert(kBytes == 14 || kBytes == 20);
#if defined(__SSE4_2__)
  std::uint64_t crc = _mm_crc32_u64(0xffffffff, first);
  if constexpr (kBytes == 20) {
    crc = _mm_crc32_u64(crc, second);
    return ~_mm_crc32_u32(static_cast<std::uint32_t>(crc), third);
  }
  const std::uint32_t narrow = _mm_crc32_u32(static_cast<std::uint32_t>(crc), static_cast<std::uint32_t>(second));
  return ~_mm_crc32_u16(narrow, static_cast<std::uint16_t>(second >> 32));
#elif defined(__ARM_FEATURE_CRC32)
  std::uint32_t crc = __crc32cd(0xffffffff, first);
  if constexpr (kBytes == 20) return ~__crc32cw(__crc32cd(crc, second), third);
  crc = __crc32cw(crc, static_cast<std::uint32_t>(second));
  return ~__crc32ch(crc, static_cast<std::uint16_t>(second >> 32));
#else
  std::byte bytes[20];
  std::memcpy(bytes, &first, 8);
  std::memcpy(bytes + 8, &second, 8);
  std::memcpy(bytes + 16, &third, 4);
  return crc32c({bytes, kBytes});
#endif
}

}  // namespace detail

/// Write a trailer as write_trailer() does. @param end  behind the last byte of the frame @param is_full  the frame has at
/// least kLeastFullFrame bytes
inline void write_trailer_at(std::byte* end, bool is_full, const Trailer& t) noexcept {
  constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << 48) - 1;
  constexpr std::uint64_t kCompactNumberMask = (std::uint64_t{1} << 40) - 1;
  if (is_full) {
    const std::uint64_t sequence = std::uint64_t{t.trial} << 48 | (t.number & kNumberMask);
    const std::uint64_t crc = detail::crc_of_words<20>(sequence, t.due_ns, t.frame);
    const std::uint64_t last = std::uint64_t{t.frame} | crc << 32;
    std::memcpy(end - 24, &sequence, 8);
    std::memcpy(end - 16, &t.due_ns, 8);
    std::memcpy(end - 8, &last, 8);
    return;
  }
  // 6 bytes of sequence, 5 of due time, 3 of template, 4 of checksum.
  const std::uint64_t sequence = std::uint64_t{t.trial & 0xffU} << 40 | (t.number & kCompactNumberMask);
  const std::uint64_t first = sequence | t.due_ns << 48;
  const std::uint64_t second = (t.due_ns >> 16 & 0xffffffU) | std::uint64_t{t.frame & 0xffffffU} << 24;
  const std::uint32_t crc = detail::crc_of_words<14>(first, second, 0);
  const std::uint64_t both = second | std::uint64_t{crc} << 48;
  const auto rest = static_cast<std::uint16_t>(crc >> 16);
  std::memcpy(end - 18, &first, 8);
  std::memcpy(end - 10, &both, 8);
  std::memcpy(end - 2, &rest, 2);
}

}  // namespace dpubench::datapath
