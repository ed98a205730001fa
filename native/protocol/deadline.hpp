// Ends a program that overstays its time limit, whatever its threads are doing.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "protocol/events.hpp"

namespace dpubench::protocol {

/// While it lives, the process is ended with a failure event and exit status 1 once `limit_s` seconds are over: an engine that
/// hangs in a library cannot be stopped in any gentler way.
class Deadline {
 public:
  Deadline(double limit_s, EventWriter& events);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace dpubench::protocol
