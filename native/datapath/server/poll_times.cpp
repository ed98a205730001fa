#include "datapath/server/poll_times.hpp"

#include <algorithm>

namespace dpubench::datapath {
namespace {

/// Return how long idle polls were held up: their time beyond the time that other idle polls take.
std::uint64_t held_up(const PollTimes& polls) noexcept {
  const std::uint64_t others = polls.idle_polls - polls.held_polls;
  const double own = others == 0 ? 0 : static_cast<double>(polls.idle_ticks - polls.held_ticks) / static_cast<double>(others);
  const auto least = static_cast<std::uint64_t>(own * static_cast<double>(polls.held_polls));
  return polls.held_ticks - std::min(polls.held_ticks, least);
}

}  // namespace

PollTimes PollTimes::since(const PollTimes& earlier) const noexcept {
  PollTimes part = *this;
  part.busy_ticks -= earlier.busy_ticks;
  part.idle_ticks -= earlier.idle_ticks;
  part.held_ticks -= earlier.held_ticks;
  part.busy_polls -= earlier.busy_polls;
  part.idle_polls -= earlier.idle_polls;
  part.held_polls -= earlier.held_polls;
  part.packets -= earlier.packets;
  return part;
}

CpuUse cpu_use(const PollTimes& polls, std::uint64_t receive_work_ticks) noexcept {
  const std::uint64_t length = polls.busy_ticks + polls.idle_ticks;
  const std::uint64_t kernel = std::min(receive_work_ticks, length);
  const std::uint64_t busy = std::max(polls.busy_ticks + std::min(held_up(polls), kernel), kernel);
  return {.application_ticks = busy - kernel, .receive_work_ticks = kernel, .idle_ticks = length - busy};
}

}  // namespace dpubench::datapath
