// The DMA agent: writes each frame that arrives and reads it back to send it, at line rate, whatever the cores do.
#pragma once

#include <cstdint>
#include <vector>

#include "cores/model/counters.hpp"
#include "cores/model/hierarchy.hpp"

namespace dpubench::cores {

/// Buffers of frames in the address space of the chip.
struct FrameBuffers {
  std::uint64_t address = 0;
  std::uint64_t stride_bytes = 0;
  std::uint32_t count = 1;
};

class DmaAgent {
 public:
  /// @param buffers  used in turn; those of the agent itself, which no core ever looks at, when there are none
  DmaAgent(const Description& description, std::vector<FrameBuffers> buffers, Hierarchy& hierarchy);

  /// Moves all frames that arrive up to `at`, which may be ahead of the time of the chip.
  void advance(Cycle at) {
    if (moving_) return;  // memory, asked by the agent itself
    moving_ = true;
    while (next_arrival_ <= at) move_frame();
    moving_ = false;
  }
  [[nodiscard]] const DmaCounters& counters() const { return counters_; }
  void reset_counters() { counters_ = {}; }

 private:
  void move_frame();
  void write_line(std::uint64_t line, Cycle at);
  [[nodiscard]] Cycle arrival(std::uint64_t frame) const;

  Dma description_;
  std::vector<FrameBuffers> buffers_;
  bool own_buffers_;
  Hierarchy* hierarchy_;
  Cache* into_;  ///< null: memory
  std::uint64_t fractions_per_frame_;
  std::uint64_t frame_ = 0;
  Cycle next_arrival_ = 0;
  bool moving_ = false;
  Cycle busy_until_ = 0;  ///< memory with what was moved so far
  DmaCounters counters_;
};

}  // namespace dpubench::cores
