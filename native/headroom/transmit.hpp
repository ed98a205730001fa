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

/// What a thread does after each burst of a trial. One call per burst.
class Insertion {
 public:
  virtual ~Insertion() = default;
  /// Do the work that goes with a burst of `packets`.
  virtual void after_burst(std::uint32_t packets) noexcept = 0;
  /// Check the work of the trial that ended. @return what is wrong with it, or an empty text
  virtual std::string check() { return {}; }
};

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
  /// Return the time of a step of spinning, in ns, as calibrated on the first thread.
  [[nodiscard]] double spin_step_ns() const { return step_ns_.at(0); }
  [[nodiscard]] bool pinned() const { return team_.pinned(); }
  [[nodiscard]] unsigned cpus() const { return team_.cpus(); }
  /// Return why no thread has a counter of core cycles; empty where they have.
  [[nodiscard]] const measure::CounterFault& cycles_fault() const { return cycles_fault_; }
  /// Return the bytes of the tables that trials used so far: of kCache, of kMemory; 0: not used.
  [[nodiscard]] std::size_t cache_bytes() const { return cache_ == nullptr ? 0 : cache_->bytes(); }
  [[nodiscard]] std::size_t memory_bytes() const { return memory_ == nullptr ? 0 : memory_->bytes(); }

 private:
  void check(const TrialSpec& spec) const;
  [[nodiscard]] const WalkTable* table_of(Delay kind);
  void calibrate(Delay kind);

  HeadroomJob job_;
  Link& link_;
  const measure::Clock& clock_;
  measure::ThreadTeam team_;
  std::vector<std::unique_ptr<Outlet>> outlets_;
  std::vector<std::unique_ptr<measure::CycleCounter>> counters_;
  measure::CounterFault cycles_fault_;
  std::vector<std::unique_ptr<Insertion>> operators_;
  std::vector<double> step_ns_;  ///< of kSpin, kCache, kMemory; 0: not calibrated yet
  std::unique_ptr<WalkTable> cache_;
  std::unique_ptr<WalkTable> memory_;
};

}  // namespace dpubench::headroom
