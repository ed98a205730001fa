// Published vectors of the operator des3.
#pragma once

#include <span>
#include <string_view>

namespace dpubench::des3 {

/// A published vector; all fields but the name are hexadecimal.
struct Vector {
  std::string_view name;
  std::string_view key;  ///< three keys
  std::string_view iv;
  std::string_view plain;
  std::string_view cipher;
};

std::span<const Vector> vectors();

}  // namespace dpubench::des3
