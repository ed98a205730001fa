// A program with a supervisor of its own: a process of the agent that ends the program and all of its descendants, whatever their
// group or session, and no process of another program.
#pragma once

#include <sys/types.h>

#include <optional>

#include "agent/process.hpp"

namespace dpubench::agent {

/// A started program. The destructor ends it and all that it started.
class Supervised {
 public:
  /// Start `command`. @throws Error with the kernel's reason
  explicit Supervised(const Command& command);
  Supervised(const Supervised&) = delete;
  Supervised& operator=(const Supervised&) = delete;
  ~Supervised();

  /// Begin to kill the program and all that it started. report() tells when they are gone.
  void end() const;
  /// Return a descriptor that can be read when the program has ended and nothing that it started is left.
  [[nodiscard]] int report() const { return report_.get(); }
  /// Return the wait status of a program that ended, when report() can be read. Call it once. Nothing: its supervisor was killed,
  /// and descendants of the program may be left
  std::optional<int> take_status();
  [[nodiscard]] pid_t supervisor() const { return pid_; }

  // The agent's ends of the program's pipes, non-blocking. The agent closes them as it needs.
  Fd in;
  Fd out;
  Fd err;

 private:
  pid_t pid_ = -1;
  Fd report_;
};

}  // namespace dpubench::agent
