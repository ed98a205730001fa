// The transmit loop: bursts on some threads, with a delay between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "headroom/crew.hpp"
#include "headroom/outlet.hpp"

namespace dpubench::headroom {

/// The accounts of a trial, of one thread or of all.
struct Sent {
  std::uint64_t packets = 0;
  std::uint64_t bursts = 0;
  std::uint64_t refusals = 0;  ///< calls at which the device took fewer packets than it was given
  std::uint64_t number_sum = 0;
  double burst_ns = 0;                       ///< time in bursts, except `blocked_ns`
  double blocked_ns = 0;                     ///< time from the first refusal of a burst until the device took all of it
  double waited_ns = 0;                      ///< time until the next burst was due (spacing)
  double inserted_ns = 0;                    ///< time in inserted work
  double elapsed_ns = 0;                     ///< from the first start to the last end
  double cpu_ns = 0;                         ///< CPU time of the threads
  std::optional<std::uint64_t> core_cycles;  ///< where each thread has a counter that counted throughout
};

/// The sending side of a job: its threads with their outlets, and their work. Use it from the thread that made it.
class Transmitter final : public Crew {
 public:
  /// Open an outlet on each of the job's threads. @throws Error
  Transmitter(const HeadroomJob& job, Link& link);
  ~Transmitter();

  /// Send one trial. @throws Error when it is no trial of this job, the device does not take its packets, or a call failed
  Sent trial(const TrialSpec& spec);
  [[nodiscard]] Pace pace() const { return own_pace(); }
  [[nodiscard]] unsigned cpus() const { return team_.cpus(); }
  /// Return the work that trials used so far.
  [[nodiscard]] const WorkSupply& work() const { return work_; }

 private:
  Link& link_;
  std::vector<std::unique_ptr<Outlet>> outlets_;
};

}  // namespace dpubench::headroom
