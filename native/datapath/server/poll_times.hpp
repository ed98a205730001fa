// What the polls of a loop took: how the server's CPU time is told apart. It reads no clock.
#pragma once

#include <cstdint>

namespace dpubench::datapath {

/// Adds up polls by what they found. The kernel's threads run on a loop's CPU too: a poll that finds nothing takes far longer
/// than others of its kind when one of them had the CPU meanwhile. Such polls are *held up*.
class PollTimes {
 public:
  PollTimes() = default;
  /// @param limit_ticks  an idle poll that takes longer was held up
  explicit PollTimes(std::uint64_t limit_ticks) : limit_(limit_ticks) {}

  /// A poll that took so long and found so many packets.
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
  /// What was added since `earlier` was copied.
  [[nodiscard]] PollTimes since(const PollTimes& earlier) const noexcept;

  std::uint64_t busy_ticks = 0;
  std::uint64_t idle_ticks = 0;
  std::uint64_t held_ticks = 0;  ///< of `idle_ticks`
  std::uint64_t busy_polls = 0;
  std::uint64_t idle_polls = 0;
  std::uint64_t held_polls = 0;  ///< of `idle_polls`
  std::uint64_t packets = 0;

 private:
  std::uint64_t limit_ = ~std::uint64_t{0};
};

/// What a CPU did in a part of a trial. The three times add up to the part's length.
struct CpuUse {
  std::uint64_t application_ticks = 0;   ///< the loop's, in polls that found packets
  std::uint64_t receive_work_ticks = 0;  ///< the kernel's receive work
  std::uint64_t idle_ticks = 0;
};

/// Tells the application's time from the kernel's receive work on the same CPU.
///
/// The loop's clock runs on while the kernel has the CPU: its time lies in polls that found packets and in those that did not,
/// where it shows as polls that were held up. So the CPU was busy in all polls that found packets, and in what held up the
/// others, of which no more is the kernel's than it ran; what is not the kernel's of that is the application's.
/// @param polls  all polls of the part @param receive_work_ticks  for which the kernel's receive work had the CPU
[[nodiscard]] CpuUse cpu_use(const PollTimes& polls, std::uint64_t receive_work_ticks) noexcept;

}  // namespace dpubench::datapath
