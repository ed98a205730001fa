#include "inputs/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace dpubench::inputs {

namespace {
__extension__ using Wide = unsigned __int128;
}

Random::Random(std::uint64_t seed) {
  // splitmix64 (Steele, Lea, Flood 2014) is the seeding that the authors of xoshiro recommend. It never gives all zeros.
  for (std::uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15U;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  if (bound == 0) throw std::invalid_argument("Random::below: bound is 0");
  // Lemire, "Fast random integer generation in an interval" (2019). The high half of a product is uniform if the few low halves
  // that would favour some results are drawn again.
  Wide product = static_cast<Wide>(next()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t surplus = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < surplus) product = static_cast<Wide>(next()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

void Random::fill(std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    std::uint64_t word = next();
    // The least significant byte comes first, whatever the host's byte order.
    for (std::size_t k = 0; k < 8 && i < bytes.size(); ++k, ++i, word >>= 8) bytes[i] = static_cast<std::byte>(word & 0xffU);
  }
}

namespace {

// Both are 1 at 0. They serve values of s near 1, so that the general formula need not divide by 1 - s.
double expm1_over(double x) {
  return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2;
}
double log1p_over(double x) {
  return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x / 2;
}

}  // namespace

Zipf::Zipf(std::uint64_t n, double s) : n_(n), s_(s), h_x1_(0), h_n_(0), threshold_(0) {
  if (n == 0 || !(s > 0) || !std::isfinite(s)) throw std::invalid_argument("Zipf: needs n >= 1 and a finite exponent above 0");
  h_x1_ = h(1.5) - 1;  // the first bar has area 1 and starts here, so rank 1 is never rejected
  h_n_ = h(static_cast<double>(n_) + 0.5);
  threshold_ = 2 - h_inverse(h(2.5) - std::pow(2.0, -s_));
}

// The integral of x^-s that is zero at 1.
double Zipf::h(double x) const {
  const double log_x = std::log(x);
  return log_x * expm1_over((1 - s_) * log_x);
}

double Zipf::h_inverse(double y) const {
  const double t = std::max(y * (1 - s_), -1.0);  // rounding may put it just below the pole
  return std::exp(y * log1p_over(t));
}

std::uint64_t Zipf::operator()(Random& random) const {
  const auto last = static_cast<double>(n_);
  for (;;) {
    const double u = h_n_ + random.uniform() * (h_x1_ - h_n_);
    const double x = h_inverse(u);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, last);
    if (rank - x <= threshold_ || u >= h(rank + 0.5) - std::pow(rank, -s_)) {
      return std::min(static_cast<std::uint64_t>(rank), n_) - 1;
    }
  }
}

}  // namespace dpubench::inputs
