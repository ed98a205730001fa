// Hashes that an attacker who chooses the keys cannot predict. With a public hash, an attacker can make packets whose flows all
// share one bucket, and each packet then costs a walk over all of them (Crosby and Wallach, "Denial of Service via Algorithmic
// Complexity Attacks", 2003).
#pragma once

#include <cstdint>

namespace dpubench {

/// Return a random number that stays the same for the life of the process. Results must not depend on it.
std::uint64_t process_secret() noexcept;

/// Return the folded product of two numbers, as wyhash does (Wang Yi, 2019). Every bit of both reaches every bit of the result.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace dpubench
