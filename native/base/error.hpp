// The one error type for faults that the user can correct. Any other exception is a bug.
#pragma once

#include <stdexcept>

namespace dpubench {

/// A fault that the user can correct. The message names the fault, the place (file, line, field) and the remedy.
class [[gnu::visibility("default")]] Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dpubench
