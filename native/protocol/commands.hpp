// Reads the lines of a program's standard input until the input ends or a signal asks the program to end.
#pragma once

#include <array>
#include <optional>
#include <string>

namespace dpubench::protocol {

/// The command lines of a program. While the object lives, SIGTERM, SIGINT and SIGHUP end the input instead of the program, so
/// that the program closes its ports in good order. Make it before any thread starts, so that all threads block these signals.
class Commands {
 public:
  /// @throws Error when the system has no descriptor left
  explicit Commands(int in);
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  /// Wait for the next line that is not empty and return it without its line end. Return nothing once the input has ended or a
  /// signal came. @throws Error on a line that is longer than any job
  std::optional<std::string> next();

  /// Return the descriptors to poll for a program that waits for other things too; a negative one is none.
  [[nodiscard]] std::array<int, 2> descriptors() const;
  /// Return the next line if it is there, without waiting. @throws as next()
  std::optional<std::string> next_if_any();
  /// Return whether the input has ended, or a signal came, and no line is left.
  [[nodiscard]] bool ended() const { return ended_ && read_.empty(); }

 private:
  /// Read what is there. @param wait_ms  limit for waiting; -1: none
  void read_some(int wait_ms);
  [[nodiscard]] std::optional<std::string> take_line();

  int in_;
  int signals_;
  bool ended_ = false;
  std::string read_;  ///< input that was read and is not taken yet
};

}  // namespace dpubench::protocol
