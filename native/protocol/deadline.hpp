// Ends a program that overstays its time limit, or whose reader went away, whatever its threads are doing.
#pragma once

#include <thread>

#include "protocol/events.hpp"

namespace dpubench::protocol {

/// While it lives, the process is ended with a failure event and exit status 1 once `limit_s` seconds are over: an engine that
/// hangs in a library cannot be stopped in any gentler way. It is ended likewise, without a word, when the other end of `out_fd`
/// is closed: whoever started it was killed, and a program that builds a table or hangs would otherwise keep the machine busy
/// until its next event. Works the same under a pipe and ssh.
class Deadline {
 public:
  /// @param out_fd  where events go: a pipe, a terminal or a file (which never goes away)
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
