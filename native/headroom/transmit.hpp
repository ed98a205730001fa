// The transmit loop: bursts on some threads, with a delay between them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/outlet.hpp"
#include "headroom/work.hpp"
#include "measure/clock.hpp"
#include "measure/counters.hpp"
#include "measure/team.hpp"

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
class Transmitter {
 public:
  /// Open an outlet on each of the job's threads. @throws Error
  Transmitter(const HeadroomJob& job, Link& link);
  Transmitter(const Transmitter&) = delete;
  Transmitter& operator=(const Transmitter&) = delete;
  ~Transmitter();

  /// Give a thread the insertion of kOperator.
  void set_operator(unsigned thread, std::unique_ptr<Insertion> insertion) { operators_.at(thread) = std::move(insertion); }
  /// Run `work` on a thread of the transmitter.
  void on_thread(unsigned thread, const std::function<void()>& work);
  /// Send one trial. @throws Error when it is no trial of this job, the device does not take its packets, or a call failed
  Sent trial(const TrialSpec& spec);
  [[nodiscard]] Pace pace() const { return {team_.pinned(), work_.step_ns(Delay::kSpin), cycles_fault_.reason}; }
  [[nodiscard]] unsigned cpus() const { return team_.cpus(); }
  /// Return the work that trials used so far.
  [[nodiscard]] const WorkSupply& work() const { return work_; }

 private:
  void check(const TrialSpec& spec) const;

  HeadroomJob job_;
  Link& link_;
  const measure::Clock& clock_;
  measure::ThreadTeam team_;
  std::vector<std::unique_ptr<Outlet>> outlets_;
  std::vector<std::unique_ptr<measure::CycleCounter>> counters_;
  measure::CounterFault cycles_fault_;
  std::vector<std::unique_ptr<Insertion>> operators_;
  WorkSupply work_;
};

}  // namespace dpubench::headroom
