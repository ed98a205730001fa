// Ends a rank whose phase takes too long, whose launcher ends it, or whose launcher is gone, and names the phase.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "protocol/events.hpp"

namespace dpubench::offload {

/// A guard that ends the process with a failure event and exit status 1. Other ranks wait for a rank that hangs, in loops that
/// cannot be left; a launcher ends all ranks when one ends.
class Watch {
 public:
  /// @param signals descriptor that becomes readable when a signal asks the process to end @throws Error
  Watch(protocol::EventWriter& events, int signals);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Begin a phase. Only within phases does a signal end the process. @param limit_s its limit
  void begin(std::string_view phase, double limit_s);
  void end();
  [[nodiscard]] std::string phase();

 private:
  void watch(int signals);
  [[noreturn]] void give_up(const std::string& why);

  protocol::EventWriter& events_;
  int over_;  ///< eventfd: set at the end
  std::mutex mutex_;
  std::string phase_;
  double limit_s_ = 0;
  double begin_ns_ = 0;
  bool in_phase_ = false;
  std::thread thread_;
};

}  // namespace dpubench::offload
