// Hashes that whoever makes the keys cannot foresee: with a public hash, packets can be made whose flows all share a bucket, and
// each costs a walk over all of them (Crosby and Wallach, "Denial of Service via Algorithmic Complexity Attacks", 2003).
#pragma once

#include <cstdint>

namespace dpubench {

/// A random number of this process, the same at each call. Results must not depend on it.
std::uint64_t process_secret() noexcept;

/// Multiplies and folds, as in wyhash (Wang Yi, 2019): every bit of both reaches every bit of the result.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace dpubench
