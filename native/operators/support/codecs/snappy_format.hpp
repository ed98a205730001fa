// The Snappy format ("Snappy compressed format description", snappy 1.1.9, format_description.txt), written and read in plain
// C++.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "operators/support/codecs/greedy_matches.hpp"

namespace dpubench::snappy_format {

/// Return the most bytes that encode() needs for `size` bytes: the length in front, and a tag of at most five bytes for the
/// literals.
constexpr std::size_t bound(std::size_t size) {
  return size + size / 6 + 32;
}

/// Write one stream. @param out  at least bound(in.size()) bytes @param in  below 4 GiB
/// @returns bytes written, 0 when `out` is smaller than that
std::size_t encode(std::span<const std::byte> in, std::span<std::byte> out, GreedyMatches& matches) noexcept;

/// Read one stream, which must fill `in` exactly. @returns bytes written; nothing when it is malformed or `out` is too small
std::optional<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) noexcept;

}  // namespace dpubench::snappy_format
