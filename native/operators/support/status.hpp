// The status of bursts whose items cannot fail.
#pragma once

#include <cstring>

#include "operators/lane.hpp"

namespace dpubench {

/// Mark every item as carried out, once behind the loop. A byte stored inside the loop may alias anything, so the compiler would
/// load the burst's pointers again for every item (5 to 15 % of an operation of a few nanoseconds).
inline void accept_all(Burst& b) noexcept {
  if (b.n == 1) {
    b.status[0] = kStatusOk;
  } else {
    std::memset(b.status, kStatusOk, b.n);
  }
}

}  // namespace dpubench
