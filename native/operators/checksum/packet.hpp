// Offsets of the fields that the checksum operator's incremental mode reads: TCP over IPv4 without options.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpubench::checksum {

inline constexpr std::size_t kIpChecksum = 10;    // RFC 791 section 3.1
inline constexpr std::size_t kSource = 12;        // RFC 791 section 3.1
inline constexpr std::size_t kTransport = 20;     // IHL = 5
inline constexpr std::size_t kPort = kTransport;  // RFC 9293 section 3.1
inline constexpr std::size_t kTcpChecksum = kTransport + 16;
inline constexpr std::size_t kHeaders = kTransport + 20;
/// Offsets in aux: new source address, new source port, two bytes of zero.
inline constexpr std::size_t kNewSource = 0;
inline constexpr std::size_t kNewPort = 4;
inline constexpr std::size_t kAuxBytes = 8;

}  // namespace dpubench::checksum
