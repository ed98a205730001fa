// Identifies this processor and the latency of its dependent 64-bit multiplications. The core canary estimates the clock from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dpubench::measure {

/// An x86-64 processor as CPUID leaves 0 and 1 identify it. The vendor is empty where there is no CPUID.
struct Signature {
  std::string vendor;
  std::uint32_t family = 0;
  std::uint32_t model = 0;
};

/// The latency of IMUL r64, r64 on a processor in cycles, or the reason why it is unknown.
struct MultiplyLatency {
  double cycles = 0;           ///< 0: unknown
  std::string_view processor;  ///< microarchitecture
  std::string_view source;     ///< publication of the latency
  std::string reason;          ///< why it is unknown, or empty
};

/// Return the latency from a list of microarchitectures with sources. A processor outside the list may take 4, 5 or 6 cycles.
MultiplyLatency multiply_latency(const Signature& processor);

/// Return the signature of the processor that runs this code.
Signature signature();

}  // namespace dpubench::measure
