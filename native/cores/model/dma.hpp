// The DMA agent: it writes each arriving frame and reads it back for sending, at line rate, whatever the cores do.
#pragma once

#include <cstdint>
#include <vector>

#include "cores/model/counters.hpp"
#include "cores/model/hierarchy.hpp"

namespace dpubench::cores {

/// The buffers of frames in the address space of the chip.
struct FrameBuffers {
  std::uint64_t address = 0;
  std::uint64_t stride_bytes = 0;
  std::uint32_t count = 1;
};

class DmaAgent {
 public:
  /// @param buffers  used in turn; if empty, the agent uses its own buffers, which no core ever accesses
  DmaAgent(const Description& description, std::vector<FrameBuffers> buffers, Hierarchy& hierarchy);

  /// Move all frames that arrive up to `at`. This may be ahead of the chip's time.
  void advance(Cycle at) {
    if (moving_) return;  // a call from memory while the agent itself accesses it
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
  Cycle busy_until_ = 0;  ///< cycle until which memory is busy with the frames moved so far
  DmaCounters counters_;
};

}  // namespace dpubench::cores
