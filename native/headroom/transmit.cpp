#include "headroom/transmit.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "base/error.hpp"

namespace dpubench::headroom {
namespace {

using measure::Clock;

/// Time in ns after the end of a trial for which a burst may still wait for room.
constexpr double kGraceNs = 1e6;

/// The loop of one thread. Times are in ticks of the clock.
class Loop {
 public:
  Loop(const Clock& clock, Outlet& outlet, const TrialSpec& spec, Insertion* insertion, bool shares_cpu)
      : clock_(clock),
        outlet_(outlet),
        spec_(spec),
        insertion_(insertion),
        spacing_(spec.delay == Delay::kSpacing || spec.delay == Delay::kSchedule ? clock.from_ns(spec.delay_ns) : 0),
        catches_up_(spec.delay == Delay::kSchedule),
        shares_cpu_(shares_cpu),
        grace_(clock.from_ns(kGraceNs)) {}

  void run(std::uint64_t duration) noexcept {
    std::uint64_t begin = clock_.ticks();
    const std::uint64_t deadline = begin + duration;
    std::uint64_t due = begin;
    first = begin;
    while (begin < deadline) {
      const std::uint64_t sent = send_burst(begin, deadline + grace_);
      std::uint64_t next = sent;
      if (insertion_ != nullptr) {
        insertion_->after_burst(spec_.burst);
        next = clock_.ticks();
        inserted += next - sent;
      } else if (spacing_ != 0 || shares_cpu_) {
        due = (catches_up_ ? due : begin) + spacing_;
        if (shares_cpu_) next = now();  // also if it is late: the sink must make room for what comes
        while (next < due) next = now();
        waited += next - sent;
      }
      ++bursts;
      begin = next;
    }
    last = begin;
  }

  std::uint64_t packets = 0;
  std::uint64_t bursts = 0;
  std::uint64_t refusals = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t burst_time = 0;
  std::uint64_t blocked = 0;
  std::uint64_t waited = 0;
  std::uint64_t inserted = 0;

 private:
  /// Return the time, after whoever shares the CPU had it.
  std::uint64_t now() const noexcept {
    if (shares_cpu_) sched_yield();
    return clock_.ticks();
  }

  /// Send a whole burst, or give up at `limit`. @return the time at its end
  std::uint64_t send_burst(std::uint64_t begin, std::uint64_t limit) noexcept {
    std::uint32_t taken = outlet_.send(spec_.burst);
    packets += taken;
    if (taken == spec_.burst) [[likely]] {
      const std::uint64_t end = clock_.ticks();
      burst_time += end - begin;
      return end;
    }
    const std::uint64_t refused = clock_.ticks();
    std::uint64_t last_try = refused;
    while (taken < spec_.burst && last_try < limit) {
      ++refusals;
      const std::uint32_t more = outlet_.send(spec_.burst - taken);
      packets += more;
      taken += more;
      last_try = now();
    }
    burst_time += refused - begin;
    blocked += last_try - refused;
    return last_try;
  }

  const Clock& clock_;
  Outlet& outlet_;
  const TrialSpec& spec_;
  Insertion* insertion_;
  const std::uint64_t spacing_;
  const bool catches_up_;
  const bool shares_cpu_;
  const std::uint64_t grace_;
};

}  // namespace

Transmitter::Transmitter(const HeadroomJob& job, Link& link) : Crew(job), link_(link) {
  open_ways(outlets_, [&](unsigned thread) { return link_.open_outlet(thread); });
}

Transmitter::~Transmitter() {
  close_ways(outlets_);
}

Sent Transmitter::trial(const TrialSpec& spec) {
  check(spec);
  if (spec.size > job_.max_packet) {
    throw Error("packets of " + std::to_string(spec.size) + " bytes: the job was opened for " + std::to_string(job_.max_packet) +
                " at most (max_packet)");
  }
  const std::uint64_t steps = steps_of(spec);
  const unsigned n = spec.threads;
  std::vector<Sent> sent(n);
  std::vector<std::string> faults(n);
  std::vector<std::uint64_t> first(n);
  std::vector<std::uint64_t> last(n);
  std::atomic<unsigned> ready = 0;
  std::atomic<bool> broken = false;
  team_.run([&](unsigned thread) {
    if (thread >= n) return;
    const Share share(*this, spec, thread, steps);
    Insertion* const insertion = share.insertion();
    Outlet& outlet = *outlets_[thread];
    try {
      outlet.prepare(spec);
    } catch (...) {
      broken = true;
      ++ready;
      throw;
    }
    Loop loop(clock_, outlet, spec, insertion, job_.own_sink.has_value());
    // All begin together; with fewer CPUs than threads a waiting thread must let the others come.
    for (++ready; ready.load() < n;) sched_yield();
    if (broken.load()) return;
    const CpuUse use = use_of(thread, [&] { loop.run(clock_.from_ns(spec.duration_s * 1e9)); });
    Sent& own_sent = sent[thread];
    own_sent.packets = loop.packets;
    own_sent.bursts = loop.bursts;
    own_sent.refusals = loop.refusals;
    own_sent.number_sum = sum_of_numbers(loop.packets, spec.reuse);
    own_sent.burst_ns = less_readings_ns(clock_, loop.burst_time, loop.bursts);
    own_sent.blocked_ns = clock_.to_ns(loop.blocked);
    own_sent.waited_ns = clock_.to_ns(loop.waited);
    own_sent.inserted_ns = insertion == nullptr ? 0 : less_readings_ns(clock_, loop.inserted, loop.bursts);
    own_sent.cpu_ns = use.cpu_ns;
    own_sent.core_cycles = use.core_cycles;
    first[thread] = loop.first;
    last[thread] = loop.last;
    faults[thread] = outlet.finish();
    if (faults[thread].empty() && insertion != nullptr) faults[thread] = insertion->check();
  });
  throw_first(faults);
  Sent all;
  all.core_cycles = 0;
  for (const Sent& one : sent) {
    all.packets += one.packets;
    all.bursts += one.bursts;
    all.refusals += one.refusals;
    all.number_sum += one.number_sum;
    all.burst_ns += one.burst_ns;
    all.blocked_ns += one.blocked_ns;
    all.waited_ns += one.waited_ns;
    all.inserted_ns += one.inserted_ns;
    all.cpu_ns += one.cpu_ns;
    all.core_cycles = both(all.core_cycles, one.core_cycles);
  }
  all.elapsed_ns = clock_.to_ns(*std::max_element(last.begin(), last.end()) - *std::min_element(first.begin(), first.end()));
  return all;
}

}  // namespace dpubench::headroom
