// Adds up the time of a loop's polls, and splits up the server's CPU time by it. It reads no clock.
#pragma once

#include <cstdint>

namespace dpubench::datapath {

/// The sums of polls by what they found. The kernel's threads run on a loop's CPU too. When one of them has the CPU during a
/// poll that finds nothing, that poll takes far longer than others of its kind. Such polls are *held up*.
class PollTimes {
 public:
  PollTimes() = default;
  /// @param limit_ticks  an idle poll that takes longer was held up
  explicit PollTimes(std::uint64_t limit_ticks) : limit_(limit_ticks) {}

  /// Add a poll that took `ticks` and found `received` packets.
  void spend(std::uint64_t ticks, std::uint32_t received) noexcept {
    if (received != 0) {
      busy_ticks += ticks;
      ++busy_polls;
      packets += received;
      return;
    }
    idle_ticks += ticks;
    ++idle_polls;
    if (ticks > limit_) [[unlikely]] {
      held_ticks += ticks;
      ++held_polls;
    }
  }
  /// Return the sums that were added since `earlier` was copied.
  [[nodiscard]] PollTimes since(const PollTimes& earlier) const noexcept;

  std::uint64_t busy_ticks = 0;
  std::uint64_t idle_ticks = 0;
  std::uint64_t held_ticks = 0;  ///< part of `idle_ticks`
  std::uint64_t busy_polls = 0;
  std::uint64_t idle_polls = 0;
  std::uint64_t held_polls = 0;  ///< part of `idle_polls`
  std::uint64_t packets = 0;

 private:
  std::uint64_t limit_ = ~std::uint64_t{0};
};

/// The use of a CPU in a part of a trial. The three times add up to the part's length.
struct CpuUse {
  std::uint64_t application_ticks = 0;   ///< time of the loop in polls that found packets
  std::uint64_t receive_work_ticks = 0;  ///< the kernel's receive work
  std::uint64_t idle_ticks = 0;
};

/// Split a CPU's time into the application's time and the kernel's receive work.
///
/// The loop's clock runs on while the kernel has the CPU. The kernel's time therefore lies in polls that found packets, and in
/// polls that found none, which were then held up. So the CPU was busy in all polls that found packets, and for the time that
/// held up the others; of the latter, no more counts than the kernel ran. The busy time that is not the kernel's is the
/// application's.
/// @param polls  all polls of the part @param receive_work_ticks  time that the kernel's receive work had the CPU
[[nodiscard]] CpuUse cpu_use(const PollTimes& polls, std::uint64_t receive_work_ticks) noexcept;

}  // namespace dpubench::datapath
