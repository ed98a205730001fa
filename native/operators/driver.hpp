// Drives a lane over buffers: the timed loop of the operators study.
#pragma once

#include <cstdint>
#include <span>

#include "measure/window.hpp"
#include "operators/buffers.hpp"
#include "operators/lane.hpp"

namespace dpubench {

/// One thread's lane on one thread's buffers. Bursts are taken in order, round and round.
class LaneStepper final : public measure::Stepper {
 public:
  LaneStepper(Lane& lane, BufferSet& buffers) : lane_(lane), bursts_(buffers.bursts()) {}

  /// Submits `bursts` bursts and waits for all of them.
  std::uint64_t step(std::uint64_t bursts) noexcept override {
    std::uint64_t operations = 0;
    std::uint64_t under_way = 0;
    std::uint64_t sink = 0;
    for (std::uint64_t left = bursts; left != 0;) {
      // A burst of the ring may still be under way when the ring is shorter than the queue: wait for it rather than submit it
      // twice.
      if (under_way < bursts_.size() && lane_.submit(bursts_[next_])) {
        next_ = next_ + 1 == bursts_.size() ? 0 : next_ + 1;
        ++under_way;
        --left;
      }
      under_way -= collect(operations, sink);
    }
    while (under_way != 0) under_way -= collect(operations, sink);
    measure::keep(sink);
    touched_ += bursts;
    return operations;
  }

  /// Index of the burst that the next step begins with.
  [[nodiscard]] std::size_t next() const { return next_; }
  /// Makes the next step begin with this burst.
  void seek(std::size_t burst) { next_ = burst; }
  /// Bursts run since the last call.
  std::uint64_t take_touched() { return std::exchange(touched_, 0); }

 private:
  std::uint32_t collect(std::uint64_t& operations, std::uint64_t& sink) noexcept {
    Burst* done[16];
    const std::uint32_t n = lane_.poll(done);
    for (std::uint32_t i = 0; i < n; ++i) {
      operations += done[i]->n;
      sink ^= done[i]->result[0];
    }
    return n;
  }

  Lane& lane_;
  std::span<Burst> bursts_;
  std::size_t next_ = 0;
  std::uint64_t touched_ = 0;
};

}  // namespace dpubench
