// The work that engines of the operator des3 get.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/operator.hpp"

namespace dpubench::des3 {

inline constexpr std::size_t kBlockBytes = 8;
inline constexpr std::size_t kKeyBytes = 24;

/// `aux` of each item holds the 8-byte IV.
class Des3Work final : public Work {
 public:
  bool encrypt = true;
  std::vector<std::byte> key;  ///< one bundle of three keys for the whole work
};

}  // namespace dpubench::des3
