#include "datapath/frame/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace dpubench::datapath {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

#if defined(__x86_64__)

bool has_instruction() {
  return __builtin_cpu_supports("sse4.2") != 0;
}

[[gnu::target("sse4.2")]] std::uint32_t by_instruction(std::span<const std::byte> bytes) noexcept {
  std::uint64_t crc = 0xffffffff;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto narrow = static_cast<std::uint32_t>(crc);
  if (left >= 4) {
    std::uint32_t word;
    std::memcpy(&word, at, 4);
    narrow = _mm_crc32_u32(narrow, word);
    left -= 4;
    at += 4;
  }
  for (; left > 0; --left, ++at) narrow = _mm_crc32_u8(narrow, std::to_integer<std::uint8_t>(*at));
  return ~narrow;
}

#elif defined(__aarch64__) && defined(__linux__)

bool has_instruction() {
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}

[[gnu::target("+crc")]] std::uint32_t by_instruction(std::span<const std::byte> bytes) noexcept {
  std::uint32_t crc = 0xffffffff;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    crc = __crc32cd(crc, word);
  }
  for (; left > 0; --left, ++at) crc = __crc32cb(crc, std::to_integer<std::uint8_t>(*at));
  return ~crc;
}

#else

bool has_instruction() {
  return false;
}

std::uint32_t by_instruction(std::span<const std::byte> bytes) noexcept {
  return crc32c_portable(bytes);
}

#endif

const bool kHasInstruction = has_instruction();

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes) noexcept {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  return kHasInstruction ? by_instruction(bytes) : crc32c_portable(bytes);
}

}  // namespace dpubench::datapath
