// Sizes of the frames that the programs of the end-to-end study handle.
#pragma once

#include <cstdint>

#include "packet/headers.hpp"

namespace dpubench::datapath {

inline constexpr std::uint32_t kEthernetBytes = packet::ethernet::kHeader;
inline constexpr std::uint32_t kFcsBytes = packet::ethernet::kFcsBytes;
/// What a frame has beyond the MTU of its interface.
inline constexpr std::uint32_t kMtuOverhead = kEthernetBytes + kFcsBytes;
/// Smallest and largest frame, with FCS.
inline constexpr std::uint32_t kMinFrame = packet::ethernet::kLeastFrame;
inline constexpr std::uint32_t kMaxFrame = 9018;

}  // namespace dpubench::datapath
