// The limits of bursts. A job is held to them, and everything that works on bursts has room for as many.
#pragma once

#include <cstdint>

namespace dpubench {

/// The most items, or packets, that one burst may carry.
inline constexpr std::uint32_t kMaxBurst = 256;
/// The most jobs (items submitted and not yet polled) that one lane ever gets; see EngineInfo::in_flight.
inline constexpr std::uint32_t kMaxInFlight = 4096;

}  // namespace dpubench
