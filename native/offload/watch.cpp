#include "offload/watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "measure/clock.hpp"

namespace dpubench::offload {
namespace {

constexpr int kExitFailed = 1;
constexpr int kLookEveryMs = 100;

double raw_now_ns() {
  return static_cast<double>(measure::Clock::monotonic_raw_ns());
}

int make_eventfd() {
  const int fd = eventfd(0, EFD_CLOEXEC);
  if (fd < 0) throw Error(std::string("cannot watch the limit of a phase: eventfd: ") + std::strerror(errno));
  return fd;
}

}  // namespace

Watch::Watch(protocol::EventWriter& events, int signals)
    : events_(events), over_(make_eventfd()), thread_([this, signals] { watch(signals); }) {}

Watch::~Watch() {
  (void)eventfd_write(over_, 1);
  thread_.join();
  (void)close(over_);
}

void Watch::begin(std::string_view phase, double limit_s) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
  limit_s_ = limit_s;
  begin_ns_ = raw_now_ns();
  in_phase_ = true;
}

void Watch::end() {
  const std::lock_guard lock(mutex_);
  in_phase_ = false;
}

std::string Watch::phase() {
  const std::lock_guard lock(mutex_);
  return phase_;
}

void Watch::give_up(const std::string& why) {
  events_.failure(phase_, why);
  (void)std::fprintf(stderr, "dpubench-offload: phase %s: %s\n", phase_.c_str(), why.c_str());
  std::_Exit(kExitFailed);
}

void Watch::watch(int signals) {
  const pid_t launcher = getppid();
  while (true) {
    std::array<pollfd, 2> watched{{{over_, POLLIN, 0}, {-1, POLLIN, 0}}};
    {
      const std::lock_guard lock(mutex_);
      if (in_phase_) watched[1].fd = signals;
    }
    if (poll(watched.data(), watched.size(), kLookEveryMs) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return;
    if (getppid() != launcher) std::_Exit(kExitFailed);
    const std::lock_guard lock(mutex_);
    if (!in_phase_) continue;
    if ((watched[1].revents & POLLIN) != 0) {
      give_up("a signal ended this rank: the launcher ends all ranks when one dies, or someone asked for the end");
    }
    if (raw_now_ns() - begin_ns_ > limit_s_ * 1e9) {
      std::array<char, 32> seconds{};
      (void)std::snprintf(seconds.data(), seconds.size(), "%g", limit_s_);
      give_up("did not end within " + std::string(seconds.data()) +
              " s (limit_s): a rank hangs, or the phase has too many iterations; raise limit_s or ask for less");
    }
  }
}

}  // namespace dpubench::offload
