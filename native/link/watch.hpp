// What every wait for the other end looks at: a request to end, and how long the other end has been silent.
#pragma once

#include <chrono>
#include <string_view>

#include "protocol/commands.hpp"

namespace dpubench::link {

using namespace std::chrono_literals;

/// A blocking system call on a socket returns at least this often, so that its caller can look at the watch.
inline constexpr std::chrono::milliseconds kSlice = 100ms;

/// The reasons for which this end stops waiting.
class Watch {
 public:
  /// TCP repeats a lost segment several times within this time. An end that makes no progress for so long is gone.
  static constexpr std::chrono::milliseconds kSilence = 10s;

  /// @param commands  requests to end; null: there are none, and the process's signals stay as they are
  explicit Watch(protocol::Commands* commands, std::chrono::milliseconds silence = kSilence)
      : commands_(commands), silence_(silence) {}

  /// Return if nobody asked this program to end. @throws Error
  void look();
  /// Look if the last look was a slice ago. It reads a clock and makes no system call otherwise.
  void glance();
  /// Wait for events of `fd` as poll(2) has them. @returns whether one came in time @throws as look()
  bool wait(int fd, short events, std::chrono::milliseconds most);
  [[nodiscard]] std::chrono::milliseconds silence() const { return silence_; }

 private:
  protocol::Commands* commands_;
  std::chrono::milliseconds silence_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

/// The waits of one operation, which slices may cut short.
class Patience {
 public:
  /// @param operation  for messages: "send to" @param peer  the other end; both must outlive this
  Patience(Watch& watch, std::string_view operation, std::string_view peer) : watch_(watch), operation_(operation), peer_(peer) {}
  /// Return if the call is to be tried again. @param reason  errno of the call that failed
  /// @throws Error when it failed for good, or the other end has been silent for too long
  void after(int reason);
  /// Tell that the other end is alive.
  void progressed() { waits_ = false; }

 private:
  Watch& watch_;
  std::string_view operation_;
  std::string_view peer_;
  bool waits_ = false;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace dpubench::link
