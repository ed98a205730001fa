// The four CRCs of the crc operator, by their names in Greg Cook's RevEng catalogue of parametrised CRC algorithms.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"

namespace dpubench::crc {

/// A CRC in the Rocksoft model (Williams 1993), which the catalogue uses.
struct Algorithm {
  std::string_view name;
  unsigned width;            ///< bits
  std::uint32_t polynomial;  ///< without the leading term, most significant bit first
  std::uint32_t initial;
  bool reflected;  ///< refin and refout; they agree in all four CRCs
  std::uint32_t xor_out;
  std::uint32_t check;  ///< CRC of the nine ASCII bytes "123456789"
};

// "CRC-32/ISO-HDLC" (Ethernet, gzip), "CRC-32/ISCSI" (Castagnoli: iSCSI, SCTP, NVMe), "CRC-16/IBM-SDLC" (X.25, HDLC) and
// "CRC-16/T10-DIF" (SCSI protection information): RevEng catalogue, sections "17 or more bits" and "16 bits".
inline constexpr std::array<Algorithm, 4> kAlgorithms{{
    {"CRC-32/ISO-HDLC", 32, 0x04c11db7, 0xffffffff, true, 0xffffffff, 0xcbf43926},
    {"CRC-32/ISCSI", 32, 0x1edc6f41, 0xffffffff, true, 0xffffffff, 0xe3069283},
    {"CRC-16/IBM-SDLC", 16, 0x1021, 0xffff, true, 0xffff, 0x906e},
    {"CRC-16/T10-DIF", 16, 0x8bb7, 0x0000, false, 0x0000, 0xd0db},
}};

/// Return the algorithm of this name. @throws Error when kAlgorithms has no such name
inline const Algorithm& algorithm(std::string_view name) {
  for (const Algorithm& a : kAlgorithms) {
    if (a.name == name) return a;
  }
  throw Error("crc: there is no algorithm '" + std::string(name) + "'");
}

}  // namespace dpubench::crc
