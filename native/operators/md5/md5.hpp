// MD5 (RFC 1321). It is broken as a hash, but the HMAC-MD5 of old IPsec configurations still uses it.
#pragma once

#include "operators/support/hashes/merkle_damgard.hpp"

namespace dpubench {

struct Md5Function {
  using State = std::array<std::uint32_t, 4>;
  static constexpr std::endian kOrder = std::endian::little;
  static constexpr State kInitial = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};  // section 3.3

  static void blocks(State& state, const std::byte* data, std::size_t count) {
    auto [a, b, c, d] = state;
    for (; count > 0; --count, data += 64) {
      const State before = {a, b, c, d};
      std::array<std::uint32_t, 16> x;
      for (std::size_t i = 0; i < 16; ++i) x[i] = load_word<kOrder>(data + 4 * i);
      round<f, 1, 0, 0>(a, b, c, d, x, {7, 12, 17, 22});
      round<g, 5, 1, 16>(a, b, c, d, x, {5, 9, 14, 20});
      round<h, 3, 5, 32>(a, b, c, d, x, {4, 11, 16, 23});
      round<i, 7, 0, 48>(a, b, c, d, x, {6, 10, 15, 21});
      a += before[0];
      b += before[1];
      c += before[2];
      d += before[3];
    }
    state = {a, b, c, d};
  }

 private:
  using Word = std::uint32_t;
  // Section 3.4. f has a form with one operation less. g is a sum of disjoint halves: the half without x need not wait for x.
  static constexpr Word f(Word x, Word y, Word z) { return z ^ (x & (y ^ z)); }
  static constexpr Word g(Word x, Word y, Word z) { return (x & z) + (y & ~z); }
  static constexpr Word h(Word x, Word y, Word z) { return x ^ y ^ z; }
  static constexpr Word i(Word x, Word y, Word z) { return y ^ (x | ~z); }

  /// floor(4294967296 * abs(sin(k + 1))), the table T of section 3.4.
  static constexpr std::array<Word, 64> kSine = {
      0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af,
      0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa,
      0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
      0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
      0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244, 0x432aff97,
      0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
      0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

  /// Run sixteen steps, with word (First + Stride * k) mod 16 and T[Sine + k]. The four variables do not move along; instead,
  /// each step names them one place further.
  template <Word (*Mix)(Word, Word, Word), std::size_t Stride, std::size_t First, std::size_t Sine>
  [[gnu::always_inline]] static void round(Word& a, Word& b, Word& c, Word& d, const std::array<Word, 16>& x,
                                           const std::array<int, 4>& shift) {
    const auto step = [&](Word& wa, Word wb, Word wc, Word wd, std::size_t k) {
      wa = wb + std::rotl(wa + x[(First + Stride * k) % 16] + kSine[Sine + k] + Mix(wb, wc, wd), shift[k % 4]);
    };
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 16; k += 4) {
      step(a, b, c, d, k);
      step(d, a, b, c, k + 1);
      step(c, d, a, b, k + 2);
      step(b, c, d, a, k + 3);
    }
  }
};

using Md5 = MerkleDamgard<Md5Function>;

}  // namespace dpubench
