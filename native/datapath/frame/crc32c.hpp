// CRC-32C (Castagnoli; RFC 3720, appendix B.4) of a few bytes, by the CPU's instruction where there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dpubench::datapath {

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;
/// Return the same as crc32c(), computed by a table.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes) noexcept;

}  // namespace dpubench::datapath
