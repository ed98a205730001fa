// Length-limited prefix codes of least total length.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dpubench {

/// A builder of code lengths. It holds its working memory, so building allocates nothing.
class HuffmanCode {
 public:
  static constexpr std::size_t kMaxSymbols = 288;
  static constexpr unsigned kMaxLimit = 15;

  /// Give every symbol that occurs a length of 1 to `limit` bits, so that the sum of frequency times length is as small as the
  /// limit allows. Give 0 to the others. A single symbol gets one bit (RFC 1951 section 3.2.7).
  /// @param frequencies  at most kMaxSymbols, with a sum below 2^32 @param limit  at most kMaxLimit, and 2^limit is at least the
  /// number of symbols used
  void lengths(std::span<const std::uint32_t> frequencies, unsigned limit, std::span<std::uint8_t> lengths) noexcept;

 private:
  struct Leaf {
    std::uint32_t weight;
    std::uint32_t symbol;
  };
  bool unlimited(std::size_t used, unsigned limit, std::span<std::uint8_t> lengths) noexcept;
  void package_merge(std::size_t used, unsigned limit, std::span<std::uint8_t> lengths) noexcept;

  std::array<Leaf, kMaxSymbols> leaves_;  ///< sorted by rising weight
  std::array<std::uint32_t, kMaxSymbols> weight_;
  std::array<std::uint16_t, 2 * kMaxSymbols> parent_;
  std::array<std::array<std::uint64_t, 2 * kMaxSymbols>, 2> list_;
  std::array<std::array<bool, 2 * kMaxSymbols>, kMaxLimit> is_leaf_;
};

/// Write the canonical codes of RFC 1951 section 3.2.2, with their bits reversed. Huffman codes are packed with their most
/// significant bit first, into a stream that is otherwise filled from the least significant bit (section 3.1.1).
void canonical_codes(std::span<const std::uint8_t> lengths, std::span<std::uint16_t> codes) noexcept;

}  // namespace dpubench
