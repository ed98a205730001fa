// Reads the lines of a program's standard input until the input ends or a signal asks the program to end.
#pragma once

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

 private:
  [[nodiscard]] std::optional<std::string> take_line();

  int in_;
  int signals_;
  bool ended_ = false;
  std::string read_;  ///< input that was read and is not taken yet
};

}  // namespace dpubench::protocol
