// Watches a trial: reports its progress, and ends it when the program is asked to end.
#pragma once

#include <sched.h>

#include <atomic>
#include <memory>
#include <thread>

#include "datapath/client/trial.hpp"
#include "protocol/events.hpp"

namespace dpubench::datapath {

/// The watch over trials. Its thread lives for the length of a trial and sleeps for most of it, so that the loop writes no
/// event and checks no signal.
class Watch {
 public:
  /// The threads of the watch are not pinned, though the client is.
  explicit Watch(protocol::EventWriter& events);

  class Trial {
   public:
    Trial(protocol::EventWriter& events, const cpu_set_t& cpus, const TrialSpec& spec, const TrialRunner& runner);
    ~Trial();
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;
    /// Return a flag that is true once the program was asked to end.
    [[nodiscard]] const std::atomic<bool>& stop() const { return stop_; }

   private:
    std::atomic<bool> stop_ = false;
    int over_;  ///< eventfd: the trial is over
    std::thread thread_;
  };
  Trial trial(const TrialSpec& spec, const TrialRunner& runner) { return {events_, cpus_, spec, runner}; }

 private:
  protocol::EventWriter& events_;
  cpu_set_t cpus_{};
};

}  // namespace dpubench::datapath
