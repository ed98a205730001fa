// The Internet checksum once more, as plain as can be. It judges what engines compute, so it shares nothing with checksum.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dpubench::checksum {

/// Return the one's complement sum over bytes in network order, computed byte by byte.
inline std::uint32_t plain_sum(std::uint32_t sum, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
    sum = (sum & 0xffffU) + (sum >> 16);
  }
  return sum;
}

}  // namespace dpubench::checksum
