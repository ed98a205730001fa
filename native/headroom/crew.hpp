// The threads of a job's sending or forwarding side, and what both sides do on them in the same way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/job.hpp"
#include "headroom/work.hpp"
#include "measure/clock.hpp"
#include "measure/counters.hpp"
#include "measure/team.hpp"

namespace dpubench::headroom {

/// What a thread used of its CPU.
struct CpuUse {
  double cpu_ns = 0;
  std::optional<std::uint64_t> core_cycles;  ///< where the thread has a counter that counted throughout
};

/// Return the sum of two counts of cycles; nothing unless both are known.
inline std::optional<std::uint64_t> both(std::optional<std::uint64_t> one, std::optional<std::uint64_t> other) {
  return one && other ? std::optional(*one + *other) : std::nullopt;
}

/// Return a time in ns that a loop summed up from `count` stretches between two readings of the clock. Each stretch holds the
/// time of one reading, which is neither transmission nor work.
double less_readings_ns(const measure::Clock& clock, std::uint64_t ticks, std::uint64_t count);

/// The threads of a job, with their counters of cycles, their work and their operators. Use it from the thread that made it.
class Crew {
 public:
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Run `work` on one of the threads, between trials.
  void on_thread(unsigned thread, const std::function<void()>& work);
  /// Give a thread the insertion of kOperator. Call it on that thread.
  void set_operator(unsigned thread, std::unique_ptr<Insertion> insertion) { operators_.at(thread) = std::move(insertion); }

 protected:
  explicit Crew(const HeadroomJob& job);
  ~Crew() = default;

  /// Open each thread's way to the packets on that thread. @param open makes that of a thread @throws Error
  template <class Way, class Open>
  void open_ways(std::vector<std::unique_ptr<Way>>& ways, Open open) {
    ways.resize(job_.threads);
    team_.run([&](unsigned thread) { ways[thread] = open(thread); });
  }
  /// End the operators and the ways, on the threads that opened them.
  template <class Way>
  void close_ways(std::vector<std::unique_ptr<Way>>& ways) {
    team_.run([&](unsigned thread) {
      operators_[thread].reset();
      ways[thread].reset();
    });
  }

  /// Check that a trial is one of this job. @throws Error
  void check(const TrialSpec& spec) const;
  /// Return the steps of a trial's work after each burst; 0 for a delay that is no work.
  std::uint64_t steps_of(const TrialSpec& spec);

  /// What a thread of a trial inserts between its bursts.
  class Share {
   public:
    Share(Crew& crew, const TrialSpec& spec, unsigned thread, std::uint64_t steps);
    /// Return the insertion; null: there is none.
    [[nodiscard]] Insertion* insertion() const { return used_; }

   private:
    std::unique_ptr<Insertion> own_;
    Insertion* used_;
  };

  /// Return what the calling thread, which has the number `thread`, uses while it does `work`.
  template <class Do>
  CpuUse use_of(unsigned thread, Do work) const {
    const measure::CycleCounter* const counter = counters_.empty() ? nullptr : counters_[thread].get();
    const auto cycles_before = counter == nullptr ? std::nullopt : counter->read();
    const std::uint64_t cpu_before = cpu_now_ns();
    work();
    const std::uint64_t cpu_after = cpu_now_ns();
    const auto cycles_after = counter == nullptr ? std::nullopt : counter->read();
    CpuUse use{.cpu_ns = static_cast<double>(cpu_after - cpu_before), .core_cycles = {}};
    if (cycles_before && cycles_after) use.core_cycles = measure::cycles_between(*cycles_before, *cycles_after);
    return use;
  }

  [[nodiscard]] Pace own_pace() const { return {team_.pinned(), work_.step_ns(Delay::kSpin), cycles_fault_.reason}; }

  HeadroomJob job_;
  const measure::Clock& clock_;
  measure::ThreadTeam team_;
  WorkSupply work_;

 private:
  static std::uint64_t cpu_now_ns();

  std::vector<std::unique_ptr<measure::CycleCounter>> counters_;
  measure::CounterFault cycles_fault_;
  std::vector<std::unique_ptr<Insertion>> operators_;
};

/// Throw the first of the threads' faults. @throws Error
void throw_first(const std::vector<std::string>& faults);

}  // namespace dpubench::headroom
