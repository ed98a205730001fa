// Raw DEFLATE (RFC 1951), written and read in plain C++. The code is here and not in an engine, because it makes the works of
// decompression: the input of a library must not depend on which libraries are installed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "operators/support/codecs/huffman_code.hpp"

namespace dpubench::deflate {

inline constexpr std::size_t kLiteralSymbols = 286;  ///< RFC 1951 section 3.2.5: literals, end of block, lengths
inline constexpr std::size_t kDistanceSymbols = 30;
inline constexpr std::uint32_t kWindow = 32768;
inline constexpr std::uint32_t kMinMatch = 3;
inline constexpr std::uint32_t kMaxMatch = 258;

/// Return the room that Compressor needs for `size` bytes: stored blocks in the worst case, and a few bytes for its wide stores.
constexpr std::size_t bound(std::size_t size) {
  return size + (size / 8192 + 1) * 5 + 16;
}
/// Return the room that Compressor::huffman_block needs. An average of 15 bits a literal is possible only in short messages; the
/// worst average of long ones is 9. The header has at most 3 + 14 + 19 * 3 + 316 * (7 + 7) bits.
constexpr std::size_t huffman_bound(std::size_t size) {
  return size + size / 8 + 640;
}

/// The effort of the search for matches.
struct Effort {
  std::uint32_t chain = 32;   ///< earlier positions of the same hash to compare at most
  std::uint32_t enough = 64;  ///< a match of this length ends the search
  bool lazy = true;           ///< look one byte further before taking a match (RFC 1951 section 4)
};

/// A compressor with its working memory of about 300 KiB; one per thread.
class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;

  /// Write one complete raw stream. @param in  below 4 GiB @returns bytes written, 0 when `out` is smaller than bound(in.size())
  std::size_t compress(std::span<const std::byte> in, std::span<std::byte> out, const Effort& effort) noexcept;
  /// Write one complete raw stream of a single dynamic block with literals only. @param in  at least one byte
  /// @returns bytes written, 0 when `out` is smaller than huffman_bound(in.size())
  std::size_t huffman_block(std::span<const std::byte> in, std::span<std::byte> out) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A decompressor with its decoding tables; one per thread. It reads any raw stream: stored, fixed and dynamic blocks.
class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;

  /// Read one stream and ignore bytes behind its last block. @returns bytes written; nothing when the stream is malformed, ends
  /// too early, or needs more room than `out` has
  std::optional<std::size_t> decompress(std::span<const std::byte> in, std::span<std::byte> out) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dpubench::deflate
