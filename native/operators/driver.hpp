// Drives a lane over buffers: the timed loop of the operators study.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "measure/clock.hpp"
#include "measure/window.hpp"
#include "operators/buffers.hpp"
#include "operators/lane.hpp"

namespace dpubench {

/// One thread's lane on one thread's buffers. It submits bursts in order, round and round; they may come back in any order.
class LaneStepper final : public measure::Stepper {
 public:
  /// @param most_bursts  bursts under way at once, at most; the depth of the lane and the size of the ring limit them too
  LaneStepper(Lane& lane, BufferSet& buffers, std::size_t most_bursts = std::numeric_limits<std::size_t>::max())
      : lane_(lane),
        bursts_(buffers.bursts()),
        limit_(std::max<std::size_t>(1, std::min({most_bursts, std::size_t{lane.depth()}, bursts_.size()}))),
        busy_(bursts_.size()) {}

  /// Submit `bursts` bursts and keep as many under way as allowed. Do not wait for the last of them: finish() waits.
  std::uint64_t step(std::uint64_t bursts) noexcept override {
    Progress now{.under_way = under_way_};
    std::uint64_t left = bursts;
    while (left != 0 && !stalled_) {
      bool moved = false;
      if (now.under_way < limit_ && may_submit(next_) && lane_.submit(bursts_[next_])) {
        if (limit_ != 1) busy_[next_] = 1;
        next_ = next_ + 1 == bursts_.size() ? 0 : next_ + 1;
        ++now.under_way;
        --left;
        moved = true;
      }
      moved |= collect(now);
      if (moved) {
        now.idle_polls = 0;
      } else {
        idle(now);
      }
    }
    touched_ += bursts - left;
    return settle(now);
  }

  std::uint64_t finish() noexcept override {
    Progress now{.under_way = under_way_};
    while (now.under_way != 0 && !stalled_) {
      if (collect(now)) {
        now.idle_polls = 0;
      } else {
        idle(now);
      }
    }
    return settle(now);
  }

  /// Raise an error if the lane stalled: it did not give its bursts back, or it took no more. A stalled stepper submits nothing.
  /// @throws Error
  void require_progress() const {
    if (!stalled_) return;
    throw Error("no burst was accepted or completed for " + std::to_string(kPatienceNs / 1'000'000'000) + " s, and " +
                std::to_string(under_way_) + " are still in flight: the device lost them, or hangs");
  }

  /// Return the index of the burst that the next step begins with.
  [[nodiscard]] std::size_t next() const { return next_; }
  /// Make the next step begin with this burst. Call it only while no burst is under way.
  void seek(std::size_t burst) { next_ = burst; }
  /// Return the number of bursts run since the last call, and make their outputs readable. Call it only while no burst is under
  /// way.
  std::uint64_t take_touched() {
    const std::uint64_t touched = std::exchange(touched_, 0);
    std::size_t burst = next_;
    for (std::uint64_t left = std::min<std::uint64_t>(touched, bursts_.size()); left != 0; --left) {
      burst = (burst == 0 ? bursts_.size() : burst) - 1;
      lane_.settle(bursts_[burst]);
    }
    return touched;
  }

 private:
  static constexpr std::uint64_t kPatienceNs = 5'000'000'000;  ///< longer than any device takes for a burst
  static constexpr std::uint32_t kPollsPerReading = 1U << 12;

  /// Counters of one call. They are locals of the loop, so that calls to the lane do not force the compiler to write them back.
  struct Progress {
    std::size_t under_way = 0;
    std::uint64_t operations = 0;
    std::uint64_t sink = 0;
    std::uint64_t idle_polls = 0;
    std::uint64_t idle_since_ns = 0;
  };

  /// Return whether the burst is free. Bursts come back in any order, so the next one of the ring may still be under way. With
  /// one burst at a time this cannot happen.
  [[nodiscard]] bool may_submit(std::size_t burst) const noexcept { return limit_ == 1 || busy_[burst] == 0; }

  bool collect(Progress& now) noexcept {
    Burst* done[16];
    const std::uint32_t n = lane_.poll(done);
    for (std::uint32_t i = 0; i < n; ++i) {
      now.operations += done[i]->n;
      now.sink ^= done[i]->result[0];
      if (limit_ != 1) busy_[static_cast<std::size_t>(done[i] - bursts_.data())] = 0;
    }
    now.under_way -= n;
    return n != 0;
  }

  /// End the wait for a lane that neither takes nor completes a burst. Synchronous lanes never come here.
  void idle(Progress& now) noexcept {
    if (++now.idle_polls % kPollsPerReading != 0) return;
    const std::uint64_t time_ns = measure::Clock::monotonic_raw_ns();
    if (now.idle_polls == kPollsPerReading) now.idle_since_ns = time_ns;
    stalled_ = time_ns - now.idle_since_ns > kPatienceNs;
  }

  std::uint64_t settle(const Progress& now) noexcept {
    under_way_ = now.under_way;
    measure::keep(now.sink);
    return now.operations;
  }

  Lane& lane_;
  std::span<Burst> bursts_;
  std::size_t limit_;
  std::vector<std::uint8_t> busy_;  ///< 1 for each burst that is under way
  std::size_t next_ = 0;
  std::size_t under_way_ = 0;
  std::uint64_t touched_ = 0;
  bool stalled_ = false;
};

}  // namespace dpubench
