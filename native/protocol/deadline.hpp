// Ends a program that exceeds its time limit or whose reader went away, whatever its threads do.
#pragma once

#include <thread>

#include "protocol/events.hpp"

namespace dpubench::protocol {

/// A guard that ends the process with a failure event and exit status 1 after `limit_s` seconds. An engine that hangs in a
/// library cannot be stopped in a gentler way. The guard also ends the process, without an event, when the other end of `out_fd`
/// closes. In this case the parent was killed, and a program that builds a table or hangs would keep the machine busy until its
/// next event. It works the same under a pipe and ssh.
class Deadline {
 public:
  /// @param out_fd  target of the events: a pipe, a terminal or a file (which never closes)
  /// @throws Error when the system has no descriptor left
  Deadline(double limit_s, EventWriter& events, int out_fd);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  int over_;  ///< eventfd: set when the job is done
  std::thread thread_;
};

}  // namespace dpubench::protocol
