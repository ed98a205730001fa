// Greedy search for repeated strings with one candidate per hash, for byte-oriented LZ77 formats.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "operators/support/codecs/byte_copy.hpp"

namespace dpubench {

/// A search for matches of four and more bytes at most 65,535 back. No match begins in the last 12 bytes or reaches into the last
/// 5, as the LZ4 block format demands ("End of block conditions").
class GreedyMatches {
 public:
  static constexpr std::size_t kMinMatch = 4;
  static constexpr std::size_t kMaxDistance = 65535;
  static constexpr std::size_t kLastMatchStart = 12;  ///< bytes before the end
  static constexpr std::size_t kLastLiterals = 5;

  /// Call `match(literals, count, length, distance)` for every match with the literals before it, and return where the literals
  /// behind the last match begin.
  template <class Match>
  std::size_t operator()(std::span<const std::byte> in, Match&& match) noexcept {
    const std::byte* const base = in.data();
    std::size_t anchor = 0;
    if (in.size() <= kLastMatchStart) return anchor;
    // A table larger than the message would only cost clearing.
    const int bits = std::clamp(static_cast<int>(std::bit_width(in.size())), 6, kMaxBits);
    const int shift = 32 - bits;
    std::fill_n(table_.begin(), std::size_t{1} << bits, 0);
    const auto slot = [&](std::uint32_t sequence) -> std::uint32_t& {
      return table_[(sequence * 2654435761U) >> shift];  // Knuth's multiplicative hashing, TAOCP 6.4
    };
    const std::size_t last_start = in.size() - kLastMatchStart;
    const std::byte* const last_end = base + in.size() - kLastLiterals;
    std::size_t attempts = 1U << kSkipShift;
    // An empty slot means position 0. It is a candidate like any other, because the bytes are compared.
    for (std::size_t at = 1; at <= last_start;) {
      const std::uint32_t sequence = load_le32(base + at);
      std::uint32_t& newest = slot(sequence);
      std::size_t candidate = newest;
      newest = static_cast<std::uint32_t>(at);
      if (at - candidate > kMaxDistance || load_le32(base + candidate) != sequence) {
        at += attempts++ >> kSkipShift;  // ever larger steps through data that does not compress
        continue;
      }
      while (at > anchor && candidate > 0 && base[at - 1] == base[candidate - 1]) {
        --at;
        --candidate;
      }
      const std::size_t length = kMinMatch + common_length(base + at + kMinMatch, base + candidate + kMinMatch, last_end);
      match(base + anchor, at - anchor, length, at - candidate);
      at += length;
      anchor = at;
      attempts = 1U << kSkipShift;
      slot(load_le32(base + at - 2)) = static_cast<std::uint32_t>(at - 2);
    }
    return anchor;
  }

 private:
  static constexpr int kMaxBits = 12;  // 16 KiB, half of a usual first-level cache
  static constexpr int kSkipShift = 6;
  std::array<std::uint32_t, 1U << kMaxBits> table_;
};

}  // namespace dpubench
