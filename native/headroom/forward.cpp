#include "headroom/forward.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "measure/thread_time.hpp"

namespace dpubench::headroom {
namespace {

using measure::Clock;

/// Time without a packet after which no more come, in ns: longer than a scheduler's time slice.
constexpr double kQuietNs = 2e7;
/// Time in ns after which a trial ends though packets still come: they are of others.
constexpr double kMostNs = 5e9;
/// Looks for packets of earlier trials before one begins.
constexpr std::uint32_t kMostStale = 1U << 16;

/// The packets that a thread received, for the others to see.
struct alignas(64) Published {
  std::atomic<std::uint64_t> received = 0;
};

}  // namespace

/// What the threads of a trial and the one that collects it share.
struct Forwarder::Course {
  explicit Course(unsigned threads) : received(threads) {}
  std::atomic<unsigned> ready = 0;
  std::atomic<bool> collecting = false;
  std::atomic<std::uint64_t> expected = 0;
  std::vector<Published> received;

  /// Return whether all packets came that are expected.
  [[nodiscard]] bool is_complete() const noexcept {
    std::uint64_t all = 0;
    for (const Published& one : received) all += one.received.load(std::memory_order_relaxed);
    return all >= expected.load(std::memory_order_relaxed);
  }
};

namespace {

/// The loop of one thread. Times are in ticks of the clock.
template <class Course>
class Loop {
 public:
  Loop(const Clock& clock, Gate& gate, const TrialSpec& spec, Insertion* insertion, Course& course, unsigned thread,
       std::uint32_t queues)
      : clock_(clock),
        gate_(gate),
        spec_(spec),
        insertion_(insertion),
        course_(course),
        thread_(thread),
        queues_(queues),
        spacing_(spec.delay == Delay::kSpacing ? clock.from_ns(spec.delay_ns) : 0),
        quiet_(clock.from_ns(kQuietNs)),
        most_(clock.from_ns(kMostNs)) {}

  /// Let go what still is in the queues of this thread from an earlier trial.
  void drain() noexcept {
    std::uint32_t left = kMostStale;
    for (std::uint32_t queue = thread_; queue < queues_; queue += spec_.threads) {
      while (left > 0 && gate_.pass(queue, kMaxBurst, nullptr, 0).received > 0) --left;
    }
  }

  void run() noexcept {
    Tally* const reading = spec_.verify ? &tally : nullptr;
    std::uint64_t begin = clock_.ticks();
    heard_ = opened = begin;
    for (std::uint32_t queue = thread_;;) {
      const Passed got = gate_.pass(queue, spec_.burst, reading, spec_.number);
      const std::uint64_t passed = clock_.ticks();
      queue = queue + spec_.threads < queues_ ? queue + spec_.threads : thread_;
      std::uint64_t next = passed;
      if (got.received > 0) {
        take(got, begin, passed);
        if (insertion_ != nullptr) {
          insertion_->after_burst(got.received);
          next = clock_.ticks();
          inserted += next - passed;
        }
      } else {
        ++open_.empty;
        open_.idle += passed - begin;
      }
      if (spacing_ != 0) {
        while (next < begin + spacing_) next = clock_.ticks();
        (got.received > 0 ? waited : open_.waited) += next - passed;
      }
      if (got.received > 0) last = next;
      begin = next;
      if (course_.collecting.load(std::memory_order_acquire) && is_over(got.received == 0, begin)) break;
    }
    closed = begin;
  }

  Tally tally;
  std::uint64_t received = 0;
  std::uint64_t bytes = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t empty = 0;
  std::uint64_t bursts = 0;
  std::uint64_t busy = 0;
  std::uint64_t idle = 0;
  std::uint64_t waited = 0;
  std::uint64_t inserted = 0;
  std::uint64_t opened = 0;
  std::uint64_t first = 0;  ///< begin of the first poll that found packets
  std::uint64_t last = 0;   ///< end of the last one, with its work or wait
  std::uint64_t closed = 0;

 private:
  void take(const Passed& got, std::uint64_t begin, std::uint64_t passed) noexcept {
    if (bursts == 0) {
      first = begin;
    } else {
      // Empty polls count between packets. Those before the first packet and after the last one are no part of the trial.
      empty += open_.empty;
      idle += open_.idle;
      waited += open_.waited;
    }
    open_ = {};
    ++bursts;
    busy += passed - begin;
    received += got.received;
    bytes += got.bytes;
    forwarded += got.forwarded;
    heard_ = passed;
    course_.received[thread_].received.store(received, std::memory_order_relaxed);
  }

  /// Return whether a trial that is being collected is over.
  bool is_over(bool found_none, std::uint64_t now) noexcept {
    // What was sent just before the request still has the whole time to come.
    if (asked_ == 0) asked_ = heard_ = now;
    if (now - asked_ > most_) return true;
    return found_none && (course_.is_complete() || now - heard_ > quiet_);
  }

  struct Open {
    std::uint64_t empty = 0;
    std::uint64_t idle = 0;
    std::uint64_t waited = 0;
  };

  const Clock& clock_;
  Gate& gate_;
  const TrialSpec& spec_;
  Insertion* insertion_;
  Course& course_;
  const unsigned thread_;
  const std::uint32_t queues_;
  const std::uint64_t spacing_;
  const std::uint64_t quiet_;
  const std::uint64_t most_;
  Open open_;  ///< polls since the last packet
  std::uint64_t heard_ = 0;
  std::uint64_t asked_ = 0;
};

}  // namespace

Forwarder::Forwarder(const HeadroomJob& job, Passage& passage)
    : job_(job),
      passage_(passage),
      clock_(Clock::instance()),
      team_(job.threads, job.cpus, job.seed),
      gates_(job.threads),
      operators_(job.threads),
      work_(job.seed) {
  team_.run([&](unsigned thread) { gates_[thread] = passage_.open_gate(); });
  counters_ = measure::open_cycle_counters(team_);
  if (counters_.empty()) {
    on_thread(0, [&] { static_cast<void>(measure::CycleCounter::open(cycles_fault_)); });
  }
  work_.calibrate(Delay::kSpin, [&](const auto& call) { on_thread(0, call); });
}

Forwarder::~Forwarder() {
  if (trial_.valid()) {
    course_->collecting = true;
    trial_.wait();
  }
  // Gates and lanes belong to the threads that opened them.
  team_.run([&](unsigned thread) {
    operators_[thread].reset();
    gates_[thread].reset();
  });
}

nlohmann::json Forwarder::described() const {
  return passage_.described();
}

void Forwarder::on_thread(unsigned thread, const std::function<void()>& work) {
  team_.run([&](unsigned each) {
    if (each == thread) work();
  });
}

void Forwarder::check(const TrialSpec& spec) const {
  if (trial_.valid()) {
    throw Error("trial " + std::to_string(number_) + " is under way: collect it before another one begins");
  }
  if (spec.threads > job_.threads) {
    throw Error("a trial of " + std::to_string(spec.threads) + " threads: the job was opened for " +
                std::to_string(job_.threads));
  }
  if (spec.delay == Delay::kOperator && operators_[0] == nullptr) throw Error("delay operator: the job names no operator");
}

void Forwarder::begin(const TrialSpec& spec) {
  check(spec);
  std::uint64_t steps = 0;
  if (is_work(spec.delay)) {
    work_.calibrate(spec.delay, [&](const auto& call) { on_thread(0, call); });
    steps = work_.steps(spec.delay, spec.delay_ns);
  }
  number_ = spec.number;
  course_ = std::make_unique<Course>(spec.threads);
  // The team has one user at a time: a trial ends before anything else runs on its threads.
  trial_ = std::async(std::launch::async, [this, spec, steps] { return run(spec, steps, *course_); });
  while (course_->ready.load() < spec.threads) {
    // A thread that failed before it was ready ends the trial.
    if (trial_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) trial_.get();
    sched_yield();
  }
}

Forwarded Forwarder::collect(std::uint32_t trial, std::uint64_t expected) {
  if (!trial_.valid() || number_ != trial) {
    throw Error("trial " + std::to_string(trial) + " is not under way: begin it first");
  }
  course_->expected = expected;
  course_->collecting = true;
  return trial_.get();
}

Forwarded Forwarder::run(const TrialSpec& spec, std::uint64_t steps, Course& course) {
  const unsigned n = spec.threads;
  std::vector<Forwarded> forwarded(n);
  std::vector<Tally> tallies(n);
  std::vector<std::uint64_t> first(n);
  std::vector<std::uint64_t> last(n);
  std::vector<std::string> faults(n);
  team_.run([&](unsigned thread) {
    if (thread >= n) return;
    std::unique_ptr<Insertion> own;
    if (is_work(spec.delay)) own = work_.insertion(spec.delay, thread, steps);
    Insertion* const insertion = spec.delay == Delay::kOperator ? operators_[thread].get() : own.get();
    Loop loop(clock_, *gates_[thread], spec, insertion, course, thread, job_.threads);
    loop.drain();
    ++course.ready;
    const measure::CycleCounter* const counter = counters_.empty() ? nullptr : counters_[thread].get();
    const auto cycles_before = counter == nullptr ? std::nullopt : counter->read();
    const std::uint64_t cpu_before = measure::thread_cpu_ns();
    loop.run();
    const std::uint64_t cpu_after = measure::thread_cpu_ns();
    const auto cycles_after = counter == nullptr ? std::nullopt : counter->read();
    Forwarded& mine = forwarded[thread];
    mine.received = loop.received;
    mine.bytes = loop.bytes;
    mine.forwarded = loop.forwarded;
    // Each of the two times holds one reading of the clock per burst, which is neither forwarding nor work.
    const double readings_ns = static_cast<double>(loop.bursts) * clock_.overhead_ns();
    Polls& polls = mine.polls.emplace();
    polls.polls = loop.bursts + loop.empty;
    polls.empty = loop.empty;
    polls.bursts = loop.bursts;
    polls.busy_ns = std::max(0.0, clock_.to_ns(loop.busy) - readings_ns);
    polls.idle_ns = clock_.to_ns(loop.idle);
    polls.waited_ns = clock_.to_ns(loop.waited);
    mine.inserted_ns = insertion == nullptr ? 0 : std::max(0.0, clock_.to_ns(loop.inserted) - readings_ns);
    mine.cpu_ns = static_cast<double>(cpu_after - cpu_before);
    mine.open_ns = clock_.to_ns(loop.closed - loop.opened);
    if (cycles_before && cycles_after) mine.core_cycles = measure::cycles_between(*cycles_before, *cycles_after);
    tallies[thread] = loop.tally;
    first[thread] = loop.first;
    last[thread] = loop.last;
    if (insertion != nullptr) faults[thread] = insertion->check();
  });
  for (const std::string& fault : faults) {
    if (!fault.empty()) throw Error(fault);
  }
  Forwarded all;
  Tally tally;
  Polls& polls = all.polls.emplace();
  all.core_cycles = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  for (unsigned i = 0; i < n; ++i) {
    const Forwarded& one = forwarded[i];
    all.received += one.received;
    all.bytes += one.bytes;
    all.forwarded += one.forwarded;
    all.inserted_ns += one.inserted_ns;
    all.cpu_ns += one.cpu_ns;
    all.open_ns += one.open_ns;
    all.core_cycles = all.core_cycles && one.core_cycles ? std::optional(*all.core_cycles + *one.core_cycles) : std::nullopt;
    polls.polls += one.polls->polls;
    polls.empty += one.polls->empty;
    polls.bursts += one.polls->bursts;
    polls.busy_ns += one.polls->busy_ns;
    polls.idle_ns += one.polls->idle_ns;
    polls.waited_ns += one.polls->waited_ns;
    tally.add(tallies[i]);
    if (one.polls->bursts == 0) continue;
    from = from == 0 ? first[i] : std::min(from, first[i]);
    to = std::max(to, last[i]);
  }
  all.dropped = all.received - all.forwarded;
  all.elapsed_ns = clock_.to_ns(to - from);
  // A thread that got its packets in a shorter stretch than others, or none, polled in vain for the rest.
  for (unsigned i = 0; i < n; ++i) polls.idle_ns += all.elapsed_ns - clock_.to_ns(last[i] - first[i]);
  if (spec.verify) all.numbers = NumbersSeen{tally.packets, tally.number_sum};
  if (const WalkTable* const table = work_.table_of(spec.delay); is_work(spec.delay) && table != nullptr) {
    all.table_bytes = table->bytes();
  }
  return all;
}

}  // namespace dpubench::headroom
