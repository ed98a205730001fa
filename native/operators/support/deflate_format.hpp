// Raw DEFLATE (RFC 1951), written and read in plain C++. Here and not in an engine, because works of decompression are made with
// it: what a library decodes must not depend on which libraries are installed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "operators/support/huffman_code.hpp"

namespace dpubench::deflate {

inline constexpr std::size_t kLiteralSymbols = 286;  ///< RFC 1951 section 3.2.5: literals, end of block, lengths
inline constexpr std::size_t kDistanceSymbols = 30;
inline constexpr std::uint32_t kWindow = 32768;
inline constexpr std::uint32_t kMinMatch = 3;
inline constexpr std::uint32_t kMaxMatch = 258;

/// Room that Compressor needs for `size` bytes: stored blocks in the worst case, and a few bytes that its wide stores touch.
constexpr std::size_t bound(std::size_t size) {
  return size + (size / 8192 + 1) * 5 + 16;
}
/// Room that Compressor::huffman_block needs: 15 bits a literal can occur on average only in short messages, 9 is the worst of
/// long ones; the header has at most 3 + 14 + 19 * 3 + 316 * (7 + 7) bits.
constexpr std::size_t huffman_bound(std::size_t size) {
  return size + size / 8 + 640;
}

/// How hard matches are searched for.
struct Effort {
  std::uint32_t chain = 32;   ///< earlier positions of the same hash that are compared at most
  std::uint32_t enough = 64;  ///< a match of this length ends the search
  bool lazy = true;           ///< look one byte further before taking a match (RFC 1951 section 4)
};

/// Working memory of a compressor; one per thread. About 300 KiB.
class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;

  /// Writes one complete raw stream. @param in below 4 GiB @returns bytes written, 0 when `out` is smaller than bound(in.size())
  std::size_t compress(std::span<const std::byte> in, std::span<std::byte> out, const Effort& effort) noexcept;
  /// Writes one complete raw stream of a single dynamic block with literals only. @param in at least one byte
  /// @returns bytes written, 0 when `out` is smaller than huffman_bound(in.size())
  std::size_t huffman_block(std::span<const std::byte> in, std::span<std::byte> out) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Decoding tables; one per thread. Any raw stream is read: stored, fixed and dynamic blocks.
class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;

  /// Reads one stream; bytes behind its last block are left alone. @returns bytes written; nothing when the stream is malformed,
  /// ends too early, or needs more room than `out` has
  std::optional<std::size_t> decompress(std::span<const std::byte> in, std::span<std::byte> out) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dpubench::deflate
