// SHA-1 (FIPS 180-4 section 6.1). It is no longer collision-resistant, but HMAC-SHA-1 is still common in IPsec.
#pragma once

#include "operators/support/hashes/merkle_damgard.hpp"

namespace dpubench {

struct Sha1Function {
  using State = std::array<std::uint32_t, 5>;
  static constexpr std::endian kOrder = std::endian::big;
  static constexpr State kInitial = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};  // section 5.3.1

  static void blocks(State& state, const std::byte* data, std::size_t count) {
    Word a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (; count > 0; --count, data += 64) {
      const State before = {a, b, c, d, e};
      std::array<Word, 16> w;  // section 6.1.2 never looks back further than 16 words of the schedule
      const auto given = [&](std::size_t t) { return w[t] = load_word<kOrder>(data + 4 * t); };
      const auto expanded = [&](std::size_t t) {
        return w[t % 16] = std::rotl(w[(t + 13) % 16] ^ w[(t + 8) % 16] ^ w[(t + 2) % 16] ^ w[t % 16], 1);
      };
      // Five steps. The five variables do not move along; instead, each step names them one place further.
      const auto five = [&](auto mix, Word k, auto word, std::size_t t) __attribute__((always_inline)) {
        const auto step = [&](Word va, Word & vb, Word vc, Word vd, Word & ve, std::size_t at) __attribute__((always_inline)) {
          ve += std::rotl(va, 5) + mix(vb, vc, vd) + k + word(at);
          vb = std::rotl(vb, 30);
        };
        step(a, b, c, d, e, t);
        step(e, a, b, c, d, t + 1);
        step(d, e, a, b, c, t + 2);
        step(c, d, e, a, b, t + 3);
        step(b, c, d, e, a, t + 4);
      };
      // 16 words are not a multiple of five steps, so the fourth group takes its last four words from the schedule.
      const auto either = [&](std::size_t t) { return t < 16 ? given(t) : expanded(t); };
#pragma GCC unroll 4
      for (std::size_t t = 0; t < 20; t += 5) five(choose, 0x5a827999, either, t);
#pragma GCC unroll 4
      for (std::size_t t = 20; t < 40; t += 5) five(parity, 0x6ed9eba1, expanded, t);
#pragma GCC unroll 4
      for (std::size_t t = 40; t < 60; t += 5) five(majority, 0x8f1bbcdc, expanded, t);
#pragma GCC unroll 4
      for (std::size_t t = 60; t < 80; t += 5) five(parity, 0xca62c1d6, expanded, t);
      a += before[0];
      b += before[1];
      c += before[2];
      d += before[3];
      e += before[4];
    }
    state = {a, b, c, d, e};
  }

 private:
  using Word = std::uint32_t;
  // Section 4.1.1. Ch and Maj have forms with one operation less. The halves of Maj are disjoint, so they may be added.
  static constexpr Word choose(Word x, Word y, Word z) {
    return z ^ (x & (y ^ z));
  }
  static constexpr Word parity(Word x, Word y, Word z) {
    return x ^ y ^ z;
  }
  static constexpr Word majority(Word x, Word y, Word z) {
    return (x & y) + (z & (x ^ y));
  }
};

using Sha1 = MerkleDamgard<Sha1Function>;

}  // namespace dpubench
