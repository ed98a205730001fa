// Modular arithmetic on integers of any length. Operators use it to make and check inputs of public-key operations without a
// library. It is not for secrets, because its time depends on the values. Montgomery multiplication: Menezes, van Oorschot,
// Vanstone, "Handbook of Applied Cryptography", algorithm 14.36.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace dpubench {

using Limbs = std::vector<std::uint64_t>;  // least significant first

inline Limbs limbs_of(std::span<const std::byte> big_endian) {
  Limbs limbs((big_endian.size() + 7) / 8);
  for (std::size_t i = 0; i < big_endian.size(); ++i)
    limbs[i / 8] |= std::to_integer<std::uint64_t>(big_endian[big_endian.size() - 1 - i]) << i % 8 * 8;
  return limbs;
}

/// Return the lowest `size` bytes, most significant first (I2OSP of RFC 8017 if the value fits).
inline std::vector<std::byte> bytes_of_limbs(const Limbs& limbs, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size && i / 8 < limbs.size(); ++i)
    bytes[size - 1 - i] = static_cast<std::byte>(limbs[i / 8] >> i % 8 * 8 & 0xFFU);
  return bytes;
}

/// Arithmetic modulo an odd number above 1. Values have modulus().size() limbs and are less than the modulus. In long chains of
/// products, values stay in Montgomery's form (enter, montgomery, leave), which saves half of the multiplications.
class Modular {
 public:
  explicit Modular(Limbs modulus) : m_(std::move(modulus)) {
    while (m_.size() > 1 && m_.back() == 0) m_.pop_back();
    inverse_ = 1;
    for (int i = 0; i < 6; ++i) inverse_ *= 2 - m_[0] * inverse_;  // a Newton step doubles the correct bits
    inverse_ = ~inverse_ + 1;
    const std::size_t bits = m_.size() * 64;
    one_ = value(1);
    for (std::size_t i = 0; i < bits; ++i) one_ = add(one_, one_);
    // 2^bits in Montgomery's form is the square of the radix. Squaring and doubling take fewer steps than as many doublings
    // again.
    square_ = one_;
    for (std::size_t bit = std::bit_floor(bits); bit != 0; bit >>= 1) {
      square_ = montgomery(square_, square_);
      if ((bits & bit) != 0) square_ = add(square_, square_);
    }
  }
  [[nodiscard]] const Limbs& modulus() const { return m_; }

  [[nodiscard]] Limbs value(std::uint64_t small) const {
    Limbs v(m_.size());
    v[0] = small;
    return v;
  }
  /// Return any integer modulo this modulus, by Horner's rule over pieces as long as the modulus.
  [[nodiscard]] Limbs reduce(const Limbs& wide) const {
    const std::size_t n = m_.size();
    Limbs v(n);
    for (std::size_t piece = (wide.size() + n - 1) / n; piece-- > 0;) {
      Limbs part(n);
      for (std::size_t i = 0; i < n && piece * n + i < wide.size(); ++i) part[i] = wide[piece * n + i];
      v = add(enter(v), leave(enter(part)));  // entering multiplies by the radix, which is the weight of a piece
    }
    return v;
  }
  [[nodiscard]] Limbs add(const Limbs& a, const Limbs& b) const {
    Limbs sum(m_.size());
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < m_.size(); ++i) {
      const Wide t = static_cast<Wide>(a[i]) + b[i] + carry;
      sum[i] = static_cast<std::uint64_t>(t);
      carry = static_cast<std::uint64_t>(t >> 64);
    }
    if (carry != 0 || !below(sum)) subtract(sum, m_);
    return sum;
  }
  [[nodiscard]] Limbs sub(const Limbs& a, const Limbs& b) const {
    Limbs minus(m_);
    subtract(minus, b);
    return add(a, minus == m_ ? Limbs(m_.size()) : minus);
  }
  /// Return a * b / 2^(64 limbs). One factor may be any number with as many limbs.
  [[nodiscard]] Limbs montgomery(const Limbs& a, const Limbs& b) const {
    Limbs product;
    montgomery(product, a, b);
    return product;
  }
  /// Convert to and from Montgomery's form, a * 2^(64 limbs).
  [[nodiscard]] Limbs enter(const Limbs& a) const { return montgomery(a, square_); }
  [[nodiscard]] Limbs leave(const Limbs& a) const { return montgomery(a, value(1)); }
  [[nodiscard]] Limbs mul(const Limbs& a, const Limbs& b) const { return montgomery(enter(a), b); }
  /// Return the power, computed by windows of four bits ("Handbook of Applied Cryptography", algorithm 14.82).
  [[nodiscard]] Limbs pow(const Limbs& base, const Limbs& exponent) const {
    constexpr std::size_t kWindow = 4;
    Limbs powers[1U << kWindow];
    powers[0] = one_;
    powers[1] = enter(base);
    for (std::size_t i = 2; i < std::size(powers); ++i) montgomery(powers[i], powers[i - 1], powers[1]);
    Limbs result = one_;
    Limbs next;  // room that the products use in turn
    const auto times = [&](const Limbs& factor) {
      montgomery(next, result, factor);
      std::swap(next, result);
    };
    std::size_t used = exponent.size();
    while (used > 0 && exponent[used - 1] == 0) --used;
    for (std::size_t at = used * 64; at > 0;) {
      at -= kWindow;
      for (std::size_t i = 0; i < kWindow; ++i) times(result);
      const std::size_t digit = exponent[at / 64] >> at % 64 & (std::size(powers) - 1);
      if (digit != 0) times(powers[digit]);
    }
    return leave(result);
  }
  /// Return the inverse of a number for a prime modulus (Fermat).
  [[nodiscard]] Limbs inverse(const Limbs& a) const {
    Limbs exponent = m_;
    subtract(exponent, value(2));
    return pow(a, exponent);
  }
  [[nodiscard]] static bool is_zero(const Limbs& a) {
    return std::all_of(a.begin(), a.end(), [](std::uint64_t l) { return l == 0; });
  }

 private:
  __extension__ using Wide = unsigned __int128;

  /// Write the product to `t`, which may be neither factor.
  void montgomery(Limbs& t, const Limbs& a, const Limbs& b) const {
    const std::size_t n = m_.size();
    t.assign(n + 2, 0);
    for (std::size_t i = 0; i < n; ++i) {
      Wide c = 0;
      for (std::size_t j = 0; j < n; ++j) {
        c += static_cast<Wide>(a[j]) * b[i] + t[j];
        t[j] = static_cast<std::uint64_t>(c);
        c >>= 64;
      }
      c += t[n];
      t[n] = static_cast<std::uint64_t>(c);
      t[n + 1] = static_cast<std::uint64_t>(c >> 64);
      const std::uint64_t q = t[0] * inverse_;
      c = static_cast<Wide>(q) * m_[0] + t[0];
      c >>= 64;
      for (std::size_t j = 1; j < n; ++j) {
        c += static_cast<Wide>(q) * m_[j] + t[j];
        t[j - 1] = static_cast<std::uint64_t>(c);
        c >>= 64;
      }
      c += t[n];
      t[n - 1] = static_cast<std::uint64_t>(c);
      t[n] = t[n + 1] + static_cast<std::uint64_t>(c >> 64);
    }
    const bool over = t[n] != 0;
    t.resize(n);
    if (over || !below(t)) subtract(t, m_);
  }
  [[nodiscard]] bool below(const Limbs& a) const {
    return std::lexicographical_compare(a.rbegin(), a.rend(), m_.rbegin(), m_.rend());
  }
  static void subtract(Limbs& a, const Limbs& b) {
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Wide t = static_cast<Wide>(a[i]) - b[i] - borrow;
      a[i] = static_cast<std::uint64_t>(t);
      borrow = static_cast<std::uint64_t>(t >> 64) & 1U;
    }
  }

  Limbs m_;
  Limbs one_;     ///< in Montgomery's form: the radix 2^(64 limbs) modulo m_
  Limbs square_;  ///< square of the radix
  std::uint64_t inverse_ = 0;
};

}  // namespace dpubench
