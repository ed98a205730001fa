// Offsets of the fields that the checksum operator's incremental mode reads: TCP over IPv4 without options.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/headers.hpp"

namespace dpubench::checksum {

inline constexpr std::size_t kIpChecksum = packet::ip4::kChecksum;
inline constexpr std::size_t kSource = packet::ip4::kSource;
inline constexpr std::size_t kTransport = packet::ip4::kHeader;
inline constexpr std::size_t kPort = kTransport;
inline constexpr std::size_t kTcpChecksum = kTransport + packet::tcp::kChecksum;
inline constexpr std::size_t kHeaders = kTransport + packet::tcp::kHeader;
/// Offsets in aux: new source address, new source port, two bytes of zero.
inline constexpr std::size_t kNewSource = 0;
inline constexpr std::size_t kNewPort = 4;
inline constexpr std::size_t kAuxBytes = 8;

}  // namespace dpubench::checksum
