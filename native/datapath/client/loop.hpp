// The client's loop: one core sends and receives, and reads the clock once in a pass.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include "datapath/client/gaps.hpp"

namespace dpubench::datapath {

/// A clock that reads the time since a trial's start.
template <class T>
concept TrialClock = requires(T clock) {
  { clock.now_ns() } -> std::same_as<std::uint64_t>;
};

/// Run a trial until `sender` has nothing more to send and `drain_ns` are over, or until `stop`. In each pass: receive a burst,
/// read the clock, send the packets that are due by that reading, account for the received packets at that reading.
/// @return the last reading
template <TrialClock Clock, class Sender, class Receiver>
std::uint64_t run_loop(Clock& clock, Sender& sender, Receiver& receiver, std::uint64_t drain_ns, Gaps& gaps,
                       const std::atomic<bool>& stop) noexcept {
  std::uint64_t last_ns = clock.now_ns();
  std::uint64_t drained_ns = 0;
  bool sending = true;
  while (!stop.load(std::memory_order_relaxed)) {
    receiver.receive();
    const std::uint64_t now_ns = clock.now_ns();
    gaps.see(last_ns, now_ns);
    last_ns = now_ns;
    if (sending) {
      sending = sender.send(now_ns);
      if (!sending) drained_ns = now_ns + drain_ns;
    }
    receiver.account(now_ns);
    if (!sending && now_ns >= drained_ns) break;
  }
  return last_ns;
}

}  // namespace dpubench::datapath
