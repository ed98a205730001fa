// Fixed pieces of work. They show the influence of the machine on a measurement, apart from the code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "measure/window.hpp"

namespace dpubench::measure {

/// A core-bound chain of dependent 64-bit multiplications without memory access. One operation is one multiplication.
class CoreCanary final : public Stepper {
 public:
  std::uint64_t step(std::uint64_t bursts) noexcept override;
  /// Return the latency of a dependent 64-bit multiplication in core cycles, or 0 if it is unknown (measure/processor.hpp). With
  /// it, the canary's rate gives an estimate of the core clock.
  static double multiply_cycles();

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15U;
};

/// A memory-bound random walk through a table of four times the L2 cache. One operation is one dependent load.
class MemoryCanary final : public Stepper {
 public:
  /// @param bytes size of the table @param seed of the walk
  MemoryCanary(std::size_t bytes, std::uint64_t seed);
  std::uint64_t step(std::uint64_t bursts) noexcept override;

 private:
  struct alignas(64) Node {
    std::uint32_t next;
  };
  std::vector<Node> nodes_;
  std::uint32_t at_ = 0;
};

}  // namespace dpubench::measure
