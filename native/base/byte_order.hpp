// Reads and writes numbers in the bytes of a foreign file or packet. Callers check the length before.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dpubench::wire {

using Bytes = std::span<const std::byte>;

/// Convert a number to network byte order, as it lies in a packet, and back.
constexpr std::uint16_t network16(std::uint32_t value) {
  const auto word = static_cast<std::uint16_t>(value);
  return std::endian::native == std::endian::little ? __builtin_bswap16(word) : word;
}
constexpr std::uint32_t network32(std::uint32_t value) {
  return std::endian::native == std::endian::little ? __builtin_bswap32(value) : value;
}

inline std::uint32_t u8(Bytes b, std::size_t at) {
  return std::to_integer<std::uint32_t>(b[at]);
}
inline std::uint32_t be16(Bytes b, std::size_t at) {
  return u8(b, at) << 8 | u8(b, at + 1);
}
inline std::uint32_t be32(Bytes b, std::size_t at) {
  return be16(b, at) << 16 | be16(b, at + 2);
}
inline std::uint32_t le16(Bytes b, std::size_t at) {
  return u8(b, at) | u8(b, at + 1) << 8;
}
inline std::uint32_t le32(Bytes b, std::size_t at) {
  return le16(b, at) | le16(b, at + 2) << 16;
}

/// Read or write a number in network byte order at an address, of which nothing is known but that the bytes are there.
inline std::uint32_t get16(const std::byte* at) {
  std::uint16_t word;
  std::memcpy(&word, at, sizeof word);
  return network16(word);
}
inline std::uint32_t get32(const std::byte* at) {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return network32(word);
}
inline void put16(std::byte* at, std::uint32_t value) {
  const std::uint16_t word = network16(value);
  std::memcpy(at, &word, sizeof word);
}
inline void put32(std::byte* at, std::uint32_t value) {
  const std::uint32_t word = network32(value);
  std::memcpy(at, &word, sizeof word);
}

/// A reader of numbers in the byte order that a file, or a section of it, declares.
struct Order {
  bool big = false;
  [[nodiscard]] std::uint32_t u16(Bytes b, std::size_t at) const { return big ? be16(b, at) : le16(b, at); }
  [[nodiscard]] std::uint32_t u32(Bytes b, std::size_t at) const { return big ? be32(b, at) : le32(b, at); }
};

}  // namespace dpubench::wire
