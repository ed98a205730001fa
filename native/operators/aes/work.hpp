// The work that engines of the operator aes get.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "operators/aes/cipher.hpp"
#include "operators/operator.hpp"

namespace dpubench::aes {

enum class Mode : std::uint8_t { kCbc, kCtr, kGcm, kXts };
enum class Direction : std::uint8_t { kEncrypt, kDecrypt };

/// `aux` of each item holds the IV (GCM: 12 bytes; 16 bytes else: CBC the IV, CTR the first counter block, XTS the tweak), then
/// the additional data of GCM.
class AesWork final : public Work {
 public:
  Mode mode = Mode::kCbc;
  Direction direction = Direction::kEncrypt;
  std::vector<std::byte> key;   ///< one key for the whole work; XTS: both keys, one after the other
  std::uint32_t aad_bytes = 0;  ///< bytes of additional data of every item

  [[nodiscard]] std::uint32_t iv_bytes() const { return mode == Mode::kGcm ? kGcmIvBytes : kBlockBytes; }
  /// Return the size of each AES key: 128 or 256.
  [[nodiscard]] std::uint32_t key_bits() const {
    return static_cast<std::uint32_t>(key.size() * 8) / (mode == Mode::kXts ? 2 : 1);
  }
};

}  // namespace dpubench::aes
