// Seeded random numbers, the same on every platform and standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dpubench::inputs {

/// A xoshiro256** generator seeded by splitmix64 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021).
class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t next();
  /// Return a uniform number in [0, bound), without modulo bias (Lemire 2019). @param bound at least 1
  std::uint64_t below(std::uint64_t bound);
  /// Return a uniform number in [0, 1).
  double uniform();
  void fill(std::span<std::byte> bytes);

 private:
  std::uint64_t state_[4];
};

/// A generator of Zipf-distributed ranks 0..n-1 with exponent `s`, by rejection-inversion (Hörmann and Derflinger 1996). It needs
/// O(1) memory.
class Zipf {
 public:
  /// @param n at least 1 @param s exponent, above 0 (1.0 allowed)
  Zipf(std::uint64_t n, double s);
  std::uint64_t operator()(Random& random) const;

 private:
  [[nodiscard]] double h(double x) const;
  [[nodiscard]] double h_inverse(double x) const;
  std::uint64_t n_;
  double s_;
  double h_x1_;
  double h_n_;
  double threshold_;
};

}  // namespace dpubench::inputs
