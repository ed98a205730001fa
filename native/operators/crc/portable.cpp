// crc, engine portable: slicing-by-16 (Kounavis and Berry, "Novel Table Lookup-Based Algorithms for High-Performance CRC
// Generation", IEEE Transactions on Computers 57, 2008). Sixteen independent table lookups replace sixteen that depend on each
// other. Carry-less multiplication would be faster, but it is not part of a baseline instruction set.

#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "operators/crc/algorithms.hpp"
#include "operators/engine.hpp"

namespace dpubench {
namespace {

constexpr std::size_t kSlices = 16;
/// tables[k][b] is the register after byte b and k zero bytes. 16 KiB.
using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

/// Read four bytes so that the byte that the register divides next comes first: the least significant byte for a reflected CRC,
/// the most significant byte otherwise.
template <bool Reflected>
std::uint32_t load(const std::byte* at) {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof word);
  if constexpr (Reflected != (std::endian::native == std::endian::little)) word = __builtin_bswap32(word);
  return word;
}

/// The register of a CRC. A 16-bit CRC uses the low half of the 32-bit register if reflected, else the high half, so that one
/// routine serves both.
template <bool Reflected>
struct Register {
  static constexpr unsigned kFirst = Reflected ? 0 : 24;  ///< shift to the byte that is divided next
  static std::uint32_t shift(std::uint32_t value) { return Reflected ? value >> 8 : value << 8; }
  static std::uint8_t byte(std::uint32_t word, unsigned i) {
    return static_cast<std::uint8_t>(word >> (Reflected ? 8 * i : 24 - 8 * i));
  }
  static std::uint32_t step(const Tables& t, std::uint32_t value, std::byte b) {
    return t[0][(value >> kFirst ^ std::to_integer<std::uint32_t>(b)) & 0xffU] ^ shift(value);
  }
};

std::uint32_t mirrored(std::uint32_t value, unsigned width) {
  std::uint32_t out = 0;
  for (unsigned i = 0; i < width; ++i) out |= (value >> i & 1U) << (width - 1 - i);
  return out;
}

template <bool Reflected>
Tables make_tables(const crc::Algorithm& a) {
  const std::uint32_t polynomial = Reflected ? mirrored(a.polynomial, a.width) : a.polynomial << (32 - a.width);
  Tables t{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t value = Reflected ? b : b << 24;
    for (int bit = 0; bit < 8; ++bit) {
      if constexpr (Reflected) {
        value = value >> 1 ^ ((value & 1U) != 0 ? polynomial : 0);
      } else {
        value = value << 1 ^ ((value >> 31) != 0 ? polynomial : 0);
      }
    }
    t[0][b] = value;
  }
  for (std::size_t k = 1; k < kSlices; ++k) {
    for (std::size_t b = 0; b < 256; ++b) t[k][b] = Register<Reflected>::step(t, t[k - 1][b], std::byte{0});
  }
  return t;
}

template <bool Reflected>
std::uint32_t update(const Tables& t, std::uint32_t value, const std::byte* at, std::size_t length) {
  using R = Register<Reflected>;
  for (; length >= kSlices; length -= kSlices, at += kSlices) {
    // The last twelve bytes do not depend on the register. Their lookups come first, so they overlap with the previous step.
    std::uint32_t rest = 0;
    for (unsigned word = 3; word > 0; --word) {
      const std::uint32_t w = load<Reflected>(at + 4 * word);
      for (unsigned i = 0; i < 4; ++i) rest ^= t[kSlices - 1 - 4 * word - i][R::byte(w, i)];
    }
    const std::uint32_t w = load<Reflected>(at) ^ value;
    value = (t[15][R::byte(w, 0)] ^ t[14][R::byte(w, 1)]) ^ (t[13][R::byte(w, 2)] ^ t[12][R::byte(w, 3)]) ^ rest;
  }
  for (; length > 0; --length, ++at) value = R::step(t, value, *at);
  return value;
}

template <bool Reflected>
struct Kernel {
  std::shared_ptr<const Tables> tables;
  std::uint32_t initial;
  std::uint32_t xor_out;
  unsigned down;  ///< right shift from the register to the low bits of the value

  Kernel(std::shared_ptr<const Tables> t, const crc::Algorithm& a)
      : tables(std::move(t)),
        initial(Reflected ? a.initial : a.initial << (32 - a.width)),
        xor_out(a.xor_out),
        down(Reflected ? 0 : 32 - a.width) {}

  void operator()(Burst& b) noexcept {
    const Tables& t = *tables;
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = update<Reflected>(t, initial, b.in[i], b.in_len[i]) >> down ^ xor_out;
      b.out_len[i] = 0;
      b.status[i] = kStatusOk;
    }
  }
};

template <bool Reflected>
std::unique_ptr<Session> session(const crc::Algorithm& a) {
  auto tables = std::make_shared<const Tables>(make_tables<Reflected>(a));
  return kernel_session([tables, &a] { return Kernel<Reflected>(tables, a); }, {"generic", "slicing-by-16", false});
}

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{
        "crc", "portable",
        "slicing-by-16 in plain C++; up to ten times slower than carry-less multiplication of whole vectors, "
        "which no baseline instruction set has",
        ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const crc::Algorithm& a = crc::algorithm(work.params.text("algorithm"));
    return a.reflected ? session<true>(a) : session<false>(a);
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
