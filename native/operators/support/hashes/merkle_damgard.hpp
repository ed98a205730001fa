// The common frame of MD5 and SHA-1: 64-byte blocks, a one bit and zeros as padding, the length in bits in the last eight bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dpubench {

/// @tparam Function  the hash, with `State` (an array of 32-bit words), `kInitial`, `kOrder` (std::endian of words and length)
/// and `static void blocks(State&, const std::byte* data, std::size_t count)`, which consumes whole blocks
template <class Function>
class MerkleDamgard {
 public:
  static constexpr std::size_t kBlockBytes = 64;
  static constexpr std::size_t kBytes = sizeof(typename Function::State);
  using Digest = std::array<std::byte, kBytes>;

  void update(std::span<const std::byte> data) {
    total_ += data.size();
    if (buffered_ > 0) {
      const std::size_t take = std::min(data.size(), kBlockBytes - buffered_);
      std::copy_n(data.begin(), take, buffer_.begin() + static_cast<std::ptrdiff_t>(buffered_));
      buffered_ += take;
      data = data.subspan(take);
      if (buffered_ < kBlockBytes) return;
      Function::blocks(state_, buffer_.data(), 1);
      buffered_ = 0;
    }
    const std::size_t whole = data.size() / kBlockBytes;
    Function::blocks(state_, data.data(), whole);  // directly from the caller's memory
    data = data.subspan(whole * kBlockBytes);
    std::copy(data.begin(), data.end(), buffer_.begin());
    buffered_ = data.size();
  }

  /// Pad and finish (RFC 1321 sections 3.1 and 3.2, FIPS 180-4 section 5.1.1). The object cannot be used again.
  Digest finish() {
    constexpr std::size_t kLengthAt = kBlockBytes - 8;
    buffer_[buffered_++] = std::byte{0x80};
    if (buffered_ > kLengthAt) {
      std::fill(buffer_.begin() + static_cast<std::ptrdiff_t>(buffered_), buffer_.end(), std::byte{0});
      Function::blocks(state_, buffer_.data(), 1);
      buffered_ = 0;
    }
    std::fill(buffer_.begin() + static_cast<std::ptrdiff_t>(buffered_), buffer_.end(), std::byte{0});
    std::uint64_t bits = total_ * 8;
    if (Function::kOrder != std::endian::native) bits = __builtin_bswap64(bits);
    std::memcpy(buffer_.data() + kLengthAt, &bits, sizeof bits);
    Function::blocks(state_, buffer_.data(), 1);
    Digest digest;
    for (std::size_t i = 0; i < state_.size(); ++i) {
      const std::uint32_t word = Function::kOrder == std::endian::native ? state_[i] : __builtin_bswap32(state_[i]);
      std::memcpy(digest.data() + 4 * i, &word, sizeof word);
    }
    return digest;
  }

  static Digest of(std::span<const std::byte> data) {
    MerkleDamgard hash;
    hash.update(data);
    return hash.finish();
  }

 private:
  typename Function::State state_ = Function::kInitial;
  std::array<std::byte, kBlockBytes> buffer_;  // left uninitialised, because only buffered bytes are ever read
  std::size_t buffered_ = 0;
  std::uint64_t total_ = 0;
};

/// Return a 32-bit word of a message, read in the byte order of its hash.
template <std::endian Order>
inline std::uint32_t load_word(const std::byte* p) {
  std::uint32_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return Order == std::endian::native ? word : __builtin_bswap32(word);
}

}  // namespace dpubench
