// Published vectors of the operator aes.
#pragma once

#include <span>
#include <string_view>

#include "operators/aes/work.hpp"

namespace dpubench::aes {

/// A published vector; all fields are hexadecimal.
struct Vector {
  std::string_view name;
  Mode mode;
  std::string_view key;  ///< XTS: both keys
  std::string_view iv;
  std::string_view additional;
  std::string_view plain;
  std::string_view cipher;  ///< GCM: ciphertext, then the tag
};

std::span<const Vector> vectors();

}  // namespace dpubench::aes
