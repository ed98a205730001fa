// A stretch of work: the time that it took, and the processor time of this thread and of the whole machine in it.
#pragma once

#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>

#include "measure/clock.hpp"
#include "measure/cpu_times.hpp"
#include "measure/thread_time.hpp"

namespace dpubench::link {

/// What a stretch took.
struct Taken {
  std::uint64_t elapsed_ns = 0;
  std::uint64_t cpu_ns = 0;  ///< of the thread, in user space and in the kernel; other CPUs and interrupts are not in it
  /// The machine's processor times when it began and when it ended (measure/cpu_times.hpp), interrupts included.
  nlohmann::json cpu_before = nlohmann::json::object();
  nlohmann::json cpu_after = nlohmann::json::object();
};

/// A stretch that begins when it is made.
class Span {
 public:
  Span()
      : clock_(measure::Clock::instance()),
        before_(measure::cpu_times_now()),
        begin_cpu_ns_(measure::thread_cpu_ns()),
        begin_(clock_.ticks()) {}
  [[nodiscard]] double elapsed_ns() const { return clock_.to_ns(clock_.ticks() - begin_); }
  [[nodiscard]] Taken taken() const {
    const double elapsed = elapsed_ns();
    return {static_cast<std::uint64_t>(elapsed), measure::thread_cpu_ns() - begin_cpu_ns_, before_, measure::cpu_times_now()};
  }

 private:
  const measure::Clock& clock_;
  nlohmann::json before_;
  std::uint64_t begin_cpu_ns_;
  std::uint64_t begin_;
};

}  // namespace dpubench::link
