// Reads numbers from the bytes of a foreign file or packet. Callers check the length before they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dpubench::inputs::wire {

using Bytes = std::span<const std::byte>;

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

/// A reader of numbers in the byte order that a file, or a section of it, declares.
struct Order {
  bool big = false;
  [[nodiscard]] std::uint32_t u16(Bytes b, std::size_t at) const { return big ? be16(b, at) : le16(b, at); }
  [[nodiscard]] std::uint32_t u32(Bytes b, std::size_t at) const { return big ? be32(b, at) : le32(b, at); }
};

}  // namespace dpubench::inputs::wire
