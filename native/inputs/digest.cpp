#include "inputs/digest.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace dpubench::inputs {

namespace {

constexpr std::size_t kBlock = 64;

// FIPS 180-4, section 4.2.2.
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Section 4.1.2. These forms of Ch and Maj need one operation less and give the same results.
constexpr std::uint32_t choose(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return z ^ (x & (y ^ z));
}
constexpr std::uint32_t majority(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return (x & y) | (z & (x | y));
}
constexpr std::uint32_t sum0(std::uint32_t x) {
  return std::rotr(x, 2) ^ std::rotr(x, 13) ^ std::rotr(x, 22);
}
constexpr std::uint32_t sum1(std::uint32_t x) {
  return std::rotr(x, 6) ^ std::rotr(x, 11) ^ std::rotr(x, 25);
}
constexpr std::uint32_t sigma0(std::uint32_t x) {
  return std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3);
}
constexpr std::uint32_t sigma1(std::uint32_t x) {
  return std::rotr(x, 17) ^ std::rotr(x, 19) ^ (x >> 10);
}

std::uint32_t load_be32(const std::byte* p) {
  std::uint32_t v = 0;
  std::memcpy(&v, p, sizeof v);
  return std::endian::native == std::endian::little ? __builtin_bswap32(v) : v;
}

void store_be(std::byte* p, std::uint64_t v, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0; v >>= 8) p[i] = static_cast<std::byte>(v & 0xffU);
}

}  // namespace

// The initial values of section 5.3.3.
Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, buffer_{} {}

void Sha256::blocks(const std::byte* data, std::size_t count) {
  // These are plain variables because Clang 14 cannot capture structured bindings in lambdas, although C++20 allows it.
  std::uint32_t a = state_[0];
  std::uint32_t b = state_[1];
  std::uint32_t c = state_[2];
  std::uint32_t d = state_[3];
  std::uint32_t e = state_[4];
  std::uint32_t f = state_[5];
  std::uint32_t g = state_[6];
  std::uint32_t h = state_[7];
  for (; count > 0; --count, data += kBlock) {
    const std::array<std::uint32_t, 8> before = {a, b, c, d, e, f, g, h};
    std::array<std::uint32_t, 16> w;  // section 6.2.2 never looks back farther than the last 16 words of the schedule
    // One round. The caller passes the variables shifted by one place each time, instead of moving eight variables.
    const auto round = [](std::uint32_t ra, std::uint32_t rb, std::uint32_t rc, std::uint32_t& rd, std::uint32_t re,
                          std::uint32_t rf, std::uint32_t rg, std::uint32_t& rh, std::uint32_t k_plus_w) {
      const std::uint32_t t1 = rh + sum1(re) + choose(re, rf, rg) + k_plus_w;
      rd += t1;
      rh = t1 + sum0(ra) + majority(ra, rb, rc);
    };
    // After eight rounds the names are back in their places.
    const auto sixteen_rounds = [&](const auto& word, const std::uint32_t* k) {
#pragma GCC unroll 1  // unrolled further, GCC 12 at -O3 runs short of registers and loses a fifth of the speed
      for (const std::size_t i : {std::size_t{0}, std::size_t{8}}) {
        round(a, b, c, d, e, f, g, h, k[i] + word(i));
        round(h, a, b, c, d, e, f, g, k[i + 1] + word(i + 1));
        round(g, h, a, b, c, d, e, f, k[i + 2] + word(i + 2));
        round(f, g, h, a, b, c, d, e, k[i + 3] + word(i + 3));
        round(e, f, g, h, a, b, c, d, k[i + 4] + word(i + 4));
        round(d, e, f, g, h, a, b, c, k[i + 5] + word(i + 5));
        round(c, d, e, f, g, h, a, b, k[i + 6] + word(i + 6));
        round(b, c, d, e, f, g, h, a, k[i + 7] + word(i + 7));
      }
    };
    sixteen_rounds([&](std::size_t i) { return w[i] = load_be32(data + 4 * i); }, kRound.data());
    for (std::size_t t = 16; t < 64; t += 16) {
      sixteen_rounds([&](std::size_t i) { return w[i] += sigma1(w[(i + 14) % 16]) + w[(i + 9) % 16] + sigma0(w[(i + 1) % 16]); },
                     kRound.data() + t);
    }
    a += before[0];
    b += before[1];
    c += before[2];
    d += before[3];
    e += before[4];
    f += before[5];
    g += before[6];
    h += before[7];
  }
  state_ = {a, b, c, d, e, f, g, h};
}

void Sha256::update(std::span<const std::byte> data) {
  if (data.empty()) return;
  total_ += data.size();
  if (buffered_ > 0) {
    const std::size_t take = std::min(data.size(), kBlock - buffered_);
    std::memcpy(buffer_.data() + buffered_, data.data(), take);
    buffered_ += take;
    data = data.subspan(take);
    if (buffered_ < kBlock) return;
    blocks(buffer_.data(), 1);
    buffered_ = 0;
  }
  const std::size_t whole = data.size() / kBlock;
  blocks(data.data(), whole);
  data = data.subspan(whole * kBlock);
  std::copy(data.begin(), data.end(), buffer_.begin());
  buffered_ = data.size();
}

std::array<std::byte, Sha256::kBytes> Sha256::finish() {
  // Section 5.1.1: append a one bit, zeros, and the length in bits as the last eight bytes of a block.
  constexpr std::size_t kLengthAt = kBlock - 8;
  buffer_[buffered_++] = std::byte{0x80};
  if (buffered_ > kLengthAt) {
    std::fill(buffer_.begin() + static_cast<std::ptrdiff_t>(buffered_), buffer_.end(), std::byte{0});
    blocks(buffer_.data(), 1);
    buffered_ = 0;
  }
  std::fill(buffer_.begin() + static_cast<std::ptrdiff_t>(buffered_), buffer_.end(), std::byte{0});
  store_be(buffer_.data() + kLengthAt, total_ * 8, 8);
  blocks(buffer_.data(), 1);
  std::array<std::byte, kBytes> digest;
  for (std::size_t i = 0; i < state_.size(); ++i) store_be(digest.data() + 4 * i, state_[i], 4);
  return digest;
}

std::array<std::byte, Sha256::kBytes> Sha256::of(std::span<const std::byte> data) {
  Sha256 sha;
  sha.update(data);
  return sha.finish();
}

std::string Sha256::hex(std::span<const std::byte> data) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * data.size());
  for (const std::byte b : data) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 0xfU];
  }
  return text;
}

}  // namespace dpubench::inputs
