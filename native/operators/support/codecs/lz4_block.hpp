// The LZ4 block format ("LZ4 Block Format Description", lz4 1.9.4, doc/lz4_Block_format.md), written and read in plain C++.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "operators/support/codecs/greedy_matches.hpp"

namespace dpubench::lz4 {

/// Return the most bytes that a block of `size` input bytes can need: one token and a length byte for each 255 literals.
constexpr std::size_t bound(std::size_t size) {
  return size + size / 255 + 16;
}

/// Write one block. @param out  at least bound(in.size()) bytes @returns bytes written, 0 when `out` is smaller than that
std::size_t encode(std::span<const std::byte> in, std::span<std::byte> out, GreedyMatches& matches) noexcept;

/// Read one block, which must fill `in` exactly. @returns bytes written; nothing when `in` is no block or `out` is too small
std::optional<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) noexcept;

}  // namespace dpubench::lz4
