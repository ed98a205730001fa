#include "headroom/crew.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "measure/thread_time.hpp"

namespace dpubench::headroom {

using measure::Clock;

double less_readings_ns(const Clock& clock, std::uint64_t ticks, std::uint64_t count) {
  return std::max(0.0, clock.to_ns(ticks) - static_cast<double>(count) * clock.overhead_ns());
}

Crew::Crew(const HeadroomJob& job)
    : job_(job),
      clock_(Clock::instance()),
      team_(job.threads, job.cpus, job.seed),
      work_(job.seed),
      counters_(measure::open_cycle_counters(team_)),
      operators_(job.threads) {
  if (counters_.empty()) {
    on_thread(0, [&] { static_cast<void>(measure::CycleCounter::open(cycles_fault_)); });
  }
  work_.calibrate(Delay::kSpin, [&](const auto& call) { on_thread(0, call); });
}

void Crew::on_thread(unsigned thread, const std::function<void()>& work) {
  team_.run([&](unsigned each) {
    if (each == thread) work();
  });
}

void Crew::check(const TrialSpec& spec) const {
  if (spec.threads > job_.threads) {
    throw Error("a trial of " + std::to_string(spec.threads) + " threads: the job was opened for " +
                std::to_string(job_.threads));
  }
  if (spec.delay == Delay::kOperator && operators_[0] == nullptr) throw Error("delay operator: the job names no operator");
}

std::uint64_t Crew::steps_of(const TrialSpec& spec) {
  if (!is_work(spec.delay)) return 0;
  work_.calibrate(spec.delay, [&](const auto& call) { on_thread(0, call); });
  return work_.steps(spec.delay, spec.delay_ns);
}

Crew::Share::Share(Crew& crew, const TrialSpec& spec, unsigned thread, std::uint64_t steps)
    : own_(is_work(spec.delay) ? crew.work_.insertion(spec.delay, thread, steps) : nullptr),
      used_(spec.delay == Delay::kOperator ? crew.operators_[thread].get() : own_.get()) {}

std::uint64_t Crew::cpu_now_ns() {
  return measure::thread_cpu_ns();
}

void throw_first(const std::vector<std::string>& faults) {
  for (const std::string& fault : faults) {
    if (!fault.empty()) throw Error(fault);
  }
}

}  // namespace dpubench::headroom
