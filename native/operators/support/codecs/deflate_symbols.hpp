// The alphabets of RFC 1951 sections 3.2.5 to 3.2.7, for both directions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dpubench::deflate {

inline constexpr std::size_t kEndOfBlock = 256;
inline constexpr std::size_t kFirstLength = 257;

inline constexpr std::array<std::uint16_t, 29> kLengthBase = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                              31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
inline constexpr std::array<std::uint8_t, 29> kLengthExtra = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                              2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
inline constexpr std::array<std::uint16_t, 30> kDistanceBase = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                                                33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                                                1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
inline constexpr std::array<std::uint8_t, 30> kDistanceExtra = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                                                6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

/// The order of the code length code's lengths in a header, and their alphabet (section 3.2.7).
inline constexpr std::array<std::uint8_t, 19> kCodeLengthOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                                  11, 4,  12, 3, 13, 2, 14, 1, 15};
inline constexpr std::uint8_t kRepeatPrevious = 16;  ///< 3 to 6 times, 2 extra bits
inline constexpr std::uint8_t kRepeatZero = 17;      ///< 3 to 10 times, 3 extra bits
inline constexpr std::uint8_t kRepeatZeroLong = 18;  ///< 11 to 138 times, 7 extra bits

/// The lengths of the fixed literal code (section 3.2.6), with its two symbols that never occur.
inline constexpr std::array<std::uint8_t, 288> kFixedLiteralLengths = [] {
  std::array<std::uint8_t, 288> lengths{};
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  return lengths;
}();
inline constexpr unsigned kFixedDistanceBits = 5;

}  // namespace dpubench::deflate
