#include "protocol/deadline.hpp"

#include <chrono>
#include <cstdlib>
#include <string>

namespace dpubench::protocol {

Deadline::Deadline(double limit_s, EventWriter& events)
    : thread_([this, limit_s, &events] {
        std::unique_lock lock(mutex_);
        if (over_.wait_for(lock, std::chrono::duration<double>(limit_s), [this] { return done_; })) return;
        events.failure("job", "the time limit of " + std::to_string(limit_s) + " s is over; raise time_limit_s or ask for less");
        std::_Exit(1);
      }) {}

Deadline::~Deadline() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  over_.notify_one();
  thread_.join();
}

}  // namespace dpubench::protocol
