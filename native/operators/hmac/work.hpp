// The work that engines of the operator hmac get.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/operator.hpp"

namespace dpubench::hmac {

enum class Hash : std::uint8_t { kMd5, kSha1, kSha256 };

inline constexpr std::size_t kBlockBytes = 64;  ///< block size of all three hashes: B of RFC 2104

inline std::uint32_t tag_bytes(Hash hash) {
  return hash == Hash::kMd5 ? 16 : hash == Hash::kSha1 ? 20 : 32;
}

class HmacWork final : public Work {
 public:
  Hash hash = Hash::kSha256;
  std::vector<std::byte> key;  ///< one key for the whole work, of any length
  std::vector<std::byte>
      block_key;  ///< the key as RFC 2104 uses it: hashed if it is longer than a block, then padded with zeros to a block
};

}  // namespace dpubench::hmac
