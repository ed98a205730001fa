// Published vectors of the operator hmac.
#pragma once

#include <span>
#include <string_view>

namespace dpubench::hmac {

/// A published vector; all fields but the names are hexadecimal.
struct Vector {
  std::string_view name;
  std::string_view hash;  ///< value of the operator's parameter
  std::string_view key;
  std::string_view message;
  std::string_view tag;
};

std::span<const Vector> vectors();

}  // namespace dpubench::hmac
