#include "link/watch.hpp"

#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace dpubench::link {

void Watch::look() {
  looked_ = std::chrono::steady_clock::now();
  if (commands_ == nullptr) return;
  if (commands_->next_if_any()) throw Error("there is no command: end standard input to end this program early");
  if (commands_->ended()) throw Error("it was ended before it was done: its standard input ended, or a signal came");
}

void Watch::glance() {
  if (std::chrono::steady_clock::now() - looked_ >= kSlice) look();
}

bool Watch::wait(int fd, short events, std::chrono::milliseconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  for (;;) {
    look();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() < 0) return false;
    const std::array<int, 2> commands = commands_ == nullptr ? std::array{-1, -1} : commands_->descriptors();
    std::array<pollfd, 3> fds{{{fd, events, 0}, {commands[0], POLLIN, 0}, {commands[1], POLLIN, 0}}};
    if (poll(fds.data(), fds.size(), static_cast<int>(left.count()) + 1) < 0 && errno != EINTR)
      throw Error(std::string("poll: ") + std::strerror(errno));
    if (fds[0].revents != 0) return true;
  }
}

void Patience::after(int reason) {
  const auto failed = [this](const std::string& why) {
    return Error("cannot " + std::string(operation_) + " " + std::string(peer_) + ": " + why);
  };
  const bool has_ended = reason == ECONNRESET || reason == EPIPE || reason == ENOTCONN;
  if (has_ended) throw failed("the other end closed the connection: its own failure says why");
  if (reason != EAGAIN && reason != EINTR) throw failed(std::strerror(reason));
  watch_.look();
  const auto now = std::chrono::steady_clock::now();
  if (!waits_) since_ = now;
  waits_ = true;
  if (now - since_ >= watch_.silence())
    throw failed("no progress for " + std::to_string(watch_.silence().count()) +
                 " ms: look whether the other end still runs, and at the network between both");
}

}  // namespace dpubench::link
