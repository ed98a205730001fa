// The pause of a thread that found nothing in a port.
#pragma once

#include <rte_pause.h>

#include <cstdint>

#include "measure/clock.hpp"

namespace dpubench::datapath {

/// Time between two looks for packets at a port that had none, in ns. Each look takes the cache lines of a ring in shared memory
/// from the side that writes them, and a thread that looks without a pause takes packets close behind that side, so that both use
/// the same lines. The link then runs at a fraction of its speed (docs/headroom-study.md, "Back-ends"). A ring of 1024 packets
/// fills in no less than the thirtyfold of this time at 64 Mpps.
inline constexpr double kPauseNs = 500;

/// Lets kPauseNs pass without touching memory.
class Pause {
 public:
  explicit Pause(const measure::Clock& clock) : clock_(clock), ticks_(clock.from_ns(kPauseNs)) {}
  void operator()() const noexcept {
    for (const std::uint64_t end = clock_.ticks() + ticks_; clock_.ticks() < end;) rte_pause();
  }

 private:
  const measure::Clock& clock_;
  const std::uint64_t ticks_;
};

}  // namespace dpubench::datapath
