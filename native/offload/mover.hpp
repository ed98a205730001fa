// Carries out the script of a rank, and looks at the flags by which others tell the ends of their rounds.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "offload/plan.hpp"
#include "offload/transport.hpp"

namespace dpubench::offload {

/// A wait that gives its CPU to others after a while: there may be more ranks than CPUs.
class Patience {
 public:
  void wait() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (++turns_ % kSpins == 0) sched_yield();
  }

 private:
  static constexpr unsigned kSpins = 256;
  unsigned turns_ = 0;
};

class Mover {
 public:
  /// @param window of this rank
  Mover(Transport& transport, std::byte* window, const Layout& layout, int rank)
      : transport_(transport), window_(window), layout_(layout), rank_(rank) {}

  /// Carry out a script. @param sequence number of the iteration: it grows, and is the same on all ranks @throws Error
  void run(const Script& script, std::uint64_t sequence);
  /// Return whether the rounds have ended. This looks at the own memory only.
  [[nodiscard]] bool ended(const std::vector<Round::Wait>& waits, std::uint64_t sequence) const noexcept;
  /// Wait until the rounds have ended. @param calls call the transport meanwhile; otherwise look at the own memory only
  void wait(const std::vector<Round::Wait>& waits, std::uint64_t sequence, bool calls);

 private:
  void carry_out(const std::vector<Step>& batch);
  void signal(const Round& round, std::uint64_t value);
  void finish(Transport::Ticket ticket);

  Transport& transport_;
  std::byte* window_;
  Layout layout_;
  int rank_;
  std::vector<Transport::Ticket> tickets_;
};

}  // namespace dpubench::offload
