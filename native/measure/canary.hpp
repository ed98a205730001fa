// Fixed pieces of work that show what the machine, rather than the code, did to a measurement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "measure/window.hpp"

namespace dpubench::measure {

/// Core-bound: a chain of dependent 64-bit multiplications, touching no memory. One operation is one multiplication.
class CoreCanary final : public Stepper {
 public:
  std::uint64_t step(std::uint64_t bursts) noexcept override;
  /// Latency in core cycles of a dependent 64-bit multiplication, 0 where it is not known (measure/processor.hpp): with it, the
  /// canary's rate estimates the core clock.
  static double multiply_cycles();

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15U;
};

/// Memory-bound: a random walk through a table of four times the L2 cache. One operation is one dependent load.
class MemoryCanary final : public Stepper {
 public:
  /// @param bytes of the table @param seed of the walk
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
