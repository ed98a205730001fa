// Lines of a program's standard input, until it ends or the program is asked to end.
#pragma once

#include <optional>
#include <string>

namespace dpubench::datapath {

/// While it lives, SIGTERM, SIGINT and SIGHUP end the input instead of the program, which then closes its ports in good order.
/// Made before any thread is started, so that all of them leave the signals alone.
class Commands {
 public:
  /// @throws Error when the system has no descriptor left
  explicit Commands(int in);
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  /// The next line that is not empty, without its end; nothing once the input has ended or a signal came. Waits.
  /// @throws Error on a line that is longer than any job
  std::optional<std::string> next();

 private:
  [[nodiscard]] std::optional<std::string> take_line();

  int in_;
  int signals_;
  bool ended_ = false;
  std::string read_;  ///< and not taken yet
};

}  // namespace dpubench::datapath
