// Which processor this is, and how long its dependent 64-bit multiplications take: what the core canary estimates the clock by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dpubench::measure {

/// As CPUID leaves 0 and 1 identify an x86-64 processor; the vendor is empty where there is no CPUID.
struct Signature {
  std::string vendor;
  std::uint32_t family = 0;
  std::uint32_t model = 0;
};

/// Latency of IMUL r64, r64 on a processor, in cycles, or why it is not known.
struct MultiplyLatency {
  double cycles = 0;           ///< 0: not known
  std::string_view processor;  ///< microarchitecture
  std::string_view source;     ///< where the latency is published
  std::string reason;          ///< why it is not known; else empty
};

/// From a list of microarchitectures, each with a source. What is not in it may take 4, 5 or 6 cycles, as some do.
MultiplyLatency multiply_latency(const Signature& processor);

/// Of the processor that this runs on.
Signature signature();

}  // namespace dpubench::measure
