#include "headroom/forward.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"

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

Forwarder::Forwarder(const HeadroomJob& job, Passage& passage) : Crew(job), passage_(passage) {
  open_ways(gates_, [&](unsigned /*thread*/) { return passage_.open_gate(); });
}

Forwarder::~Forwarder() {
  if (trial_.valid()) {
    course_->collecting = true;
    trial_.wait();
  }
  close_ways(gates_);
}

nlohmann::json Forwarder::described() const {
  return passage_.described();
}

void Forwarder::begin(const TrialSpec& spec) {
  if (trial_.valid()) {
    throw Error("trial " + std::to_string(number_) + " is under way: collect it before another one begins");
  }
  check(spec);
  const std::uint64_t steps = steps_of(spec);
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
    const Share share(*this, spec, thread, steps);
    Insertion* const insertion = share.insertion();
    Loop loop(clock_, *gates_[thread], spec, insertion, course, thread, job_.threads);
    loop.drain();
    ++course.ready;
    const CpuUse use = use_of(thread, [&] { loop.run(); });
    Forwarded& mine = forwarded[thread];
    mine.received = loop.received;
    mine.bytes = loop.bytes;
    mine.forwarded = loop.forwarded;
    Polls& polls = mine.polls.emplace();
    polls.polls = loop.bursts + loop.empty;
    polls.empty = loop.empty;
    polls.bursts = loop.bursts;
    polls.busy_ns = less_readings_ns(clock_, loop.busy, loop.bursts);
    polls.idle_ns = clock_.to_ns(loop.idle);
    polls.waited_ns = clock_.to_ns(loop.waited);
    mine.inserted_ns = insertion == nullptr ? 0 : less_readings_ns(clock_, loop.inserted, loop.bursts);
    mine.cpu_ns = use.cpu_ns;
    mine.core_cycles = use.core_cycles;
    mine.open_ns = clock_.to_ns(loop.closed - loop.opened);
    tallies[thread] = loop.tally;
    first[thread] = loop.first;
    last[thread] = loop.last;
    if (insertion != nullptr) faults[thread] = insertion->check();
  });
  throw_first(faults);
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
    all.core_cycles = both(all.core_cycles, one.core_cycles);
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
