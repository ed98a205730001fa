#include "protocol/deadline.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "measure/clock.hpp"

namespace dpubench::protocol {

namespace {

constexpr double kLongestPollS = 1e6;  // poll counts milliseconds in an int
constexpr int kExitFailed = 1;

std::string seconds_text(double seconds) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%g", seconds);
  return text;
}

int make_eventfd() {
  const int fd = eventfd(0, EFD_CLOEXEC);
  if (fd < 0) throw Error(std::string("cannot watch the time limit: eventfd: ") + std::strerror(errno));
  return fd;
}

void watch(double limit_s, EventWriter& events, int out_fd, int over) {
  const std::uint64_t start_ns = measure::Clock::monotonic_raw_ns();
  for (;;) {
    const double left_s = limit_s - static_cast<double>(measure::Clock::monotonic_raw_ns() - start_ns) * 1e-9;
    if (left_s <= 0) break;
    // On a writing end, POLLERR and POLLHUP mean that nobody reads any more (pipe(7), poll(2)). poll() reports both unasked.
    pollfd watched[] = {{over, POLLIN, 0}, {out_fd, 0, 0}};
    const int ready = poll(watched, 2, static_cast<int>(std::min(left_s, kLongestPollS) * 1e3) + 1);
    if (ready < 0 && errno != EINTR) return;
    if (ready <= 0) continue;
    if (watched[0].revents != 0) return;
    if ((watched[1].revents & (POLLERR | POLLHUP)) != 0) std::_Exit(kExitFailed);
    if (watched[1].revents != 0) out_fd = -1;  // POLLNVAL: nothing to watch
  }
  events.failure("job", "the time limit of " + seconds_text(limit_s) + " s is over; raise time_limit_s or ask for less");
  std::_Exit(kExitFailed);
}

}  // namespace

Deadline::Deadline(double limit_s, EventWriter& events, int out_fd)
    : over_(make_eventfd()), thread_([limit_s, out_fd, over = over_, &events] { watch(limit_s, events, out_fd, over); }) {}

Deadline::~Deadline() {
  (void)eventfd_write(over_, 1);
  thread_.join();
  (void)close(over_);
}

}  // namespace dpubench::protocol
