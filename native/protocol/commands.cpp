#include "protocol/commands.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.hpp"

namespace dpubench::protocol {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

}  // namespace

Commands::Commands(int in) : in_(in) {
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) throw Error(std::string("signalfd: ") + std::strerror(errno) + ": raise the limit of open files (ulimit -n)");
}

Commands::~Commands() {
  close(signals_);
}

std::optional<std::string> Commands::take_line() {
  while (true) {
    const std::size_t end = read_.find('\n');
    if (end == std::string::npos && !ended_) {
      if (read_.size() > kMostBytes)
        throw Error("a line of standard input is longer than " + std::to_string(kMostBytes) + " bytes");
      return std::nullopt;
    }
    std::string line = read_.substr(0, end);
    read_.erase(0, end == std::string::npos ? end : end + 1);
    if (!line.empty()) return line;
    if (read_.empty()) return std::nullopt;
  }
}

void Commands::read_some(int wait_ms) {
  std::array<pollfd, 2> sources{{{signals_, POLLIN, 0}, {in_, POLLIN, 0}}};
  const int ready = poll(sources.data(), sources.size(), wait_ms);
  if (ready < 0 && errno != EINTR) {
    ended_ = true;
  } else if (ready > 0 && (sources[0].revents & POLLIN) != 0) {
    ended_ = true;
    read_.clear();
  } else if (ready > 0 && sources[1].revents != 0) {
    std::array<char, 65536> chunk;
    const ssize_t n = read(in_, chunk.data(), chunk.size());
    if (n > 0) {
      read_.append(chunk.data(), static_cast<std::size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      ended_ = true;
    }
  }
}

std::optional<std::string> Commands::next() {
  while (true) {
    if (auto line = take_line()) return line;
    if (ended_) return std::nullopt;
    read_some(-1);
  }
}

std::array<int, 2> Commands::descriptors() const {
  return {ended_ ? -1 : signals_, ended_ ? -1 : in_};
}

std::optional<std::string> Commands::next_if_any() {
  if (auto line = take_line()) return line;
  if (!ended_) read_some(0);
  return take_line();
}

}  // namespace dpubench::protocol
