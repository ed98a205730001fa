// The one error type for faults that the user can mend; everything else that is thrown is a bug.
#pragma once

#include <stdexcept>

namespace dpubench {

/// The message says what, where (file, line, field) and what to do.
class [[gnu::visibility("default")]] Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dpubench
