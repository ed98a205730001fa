// Computes when each packet of a trial is due. It does so before the packet is sent, and reads no clock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datapath/job.hpp"

namespace dpubench::datapath {

/// The times of a cycle of packets that repeats: packet k of cycle c is due at c * period + at[k].
struct DueCycle {
  std::vector<double> at;  ///< ascending, below `period`
  double period = 1;

  /// Return arrivals of a Poisson process, in units of their mean distance. They are stretched by less than a percent so that a
  /// cycle has exactly the mean rate. They are drawn before the trial: the loop draws nothing.
  static DueCycle poisson(std::uint64_t seed);
  /// Return a capture's own times, in ns from its first packet. A packet recorded before its predecessor is due together with
  /// it. The first packet follows the last one at the mean distance. @param times_ns  in the order of sending, at least one
  static DueCycle recorded(std::span<const std::uint64_t> times_ns);
};

/// The due times of a trial's packets in order, in ns from its start.
class DueTimes {
 public:
  static constexpr std::uint32_t kAhead = kMaxPacketBurst;  ///< least number of times that are ready after ready()

  /// @param poisson, recorded  used by those schedules only, must outlive this
  DueTimes(const TrialSpec& trial, const DueCycle& poisson, const DueCycle& recorded);

  /// Return the next kAhead times or more. Not for a flood.
  [[nodiscard]] const std::uint64_t* ready() noexcept {
    if (filled_ - next_ < kAhead) refill();
    return times_.data() + next_;
  }
  void take(std::uint32_t n) noexcept { next_ += n; }
  std::uint64_t next() noexcept {
    const std::uint64_t due = *ready();
    take(1);
    return due;
  }

  /// Return how many packets are due before `end_ns`, or a few more than that.
  [[nodiscard]] std::uint64_t at_most_before(std::uint64_t end_ns) const;

 private:
  void refill() noexcept;
  double next_due() noexcept;

  const DueCycle* cycle_ = nullptr;  ///< null: constant distances
  double interval_ns_ = 0;           ///< length of one unit of the cycle
  std::uint32_t together_ = 1;       ///< packets that are due together
  double base_ns_ = 0;
  std::uint64_t index_ = 0;  ///< of the next group; with a cycle: of the next packet in it
  std::uint32_t in_group_ = 0;
  std::uint64_t cycles_ = 0;
  std::uint32_t next_ = 0;
  std::uint32_t filled_ = 0;
  std::array<std::uint64_t, 4 * kAhead> times_{};
};

}  // namespace dpubench::datapath
