#include "headroom/sink.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "datapath/pause.hpp"
#include "measure/clock.hpp"
#include "measure/thread_time.hpp"

namespace dpubench::headroom {
namespace {

using measure::Clock;

/// Time without a packet after which no more come, in ns: longer than a scheduler's time slice.
constexpr std::uint64_t kQuietNs = 20'000'000;
/// Polls that find nothing after which the sink lets others have its CPU; those of a sink whose sender has the same one.
constexpr std::uint32_t kPollsPerYield = 64;
constexpr std::uint32_t kPollsPerYieldShared = 1;

/// Move the calling thread to a network namespace. @param file empty: stay @throws Error
void enter(const std::string& file) {
  if (file.empty()) return;
  const int space = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const bool moved = space >= 0 && setns(space, CLONE_NEWNET) == 0;
  const int fault = errno;
  if (space >= 0) close(space);
  if (!moved) throw Error("the network namespace " + file + " cannot be entered: " + std::strerror(fault));
}

}  // namespace

struct Sink::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  enum class State : std::uint8_t { kOpening, kIdle, kCounting, kEnding } state = State::kOpening;
  std::exception_ptr fault;
  std::atomic<std::uint32_t> trial = 0;
  std::atomic<bool> collecting = false;
  std::atomic<std::uint64_t> expected = 0;
  Received received;
};

Sink::Sink(Link& link, int cpu, const OwnSink* own) : shared_(std::make_unique<Shared>()) {
  thread_ = std::thread([this, &link, cpu, own] { serve(*shared_, link, cpu, own); });
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->state != Shared::State::kOpening; });
  if (shared_->fault) {
    lock.unlock();
    thread_.join();
    std::rethrow_exception(shared_->fault);
  }
}

Sink::~Sink() {
  if (!thread_.joinable()) return;
  shared_->collecting = true;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait(lock, [&] { return shared_->state != Shared::State::kCounting; });
    shared_->state = Shared::State::kEnding;
  }
  shared_->changed.notify_all();
  thread_.join();
}

void Sink::begin(std::uint32_t trial) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->state == Shared::State::kCounting) {
    throw Error("trial " + std::to_string(shared_->trial) + " is under way: collect it before another one begins");
  }
  shared_->trial = trial;
  shared_->collecting = false;
  shared_->received = {};
  shared_->state = Shared::State::kCounting;
  shared_->changed.notify_all();
}

Received Sink::collect(std::uint32_t trial, std::uint64_t expected) {
  std::unique_lock lock(shared_->mutex);
  if (shared_->state != Shared::State::kCounting || shared_->trial != trial) {
    throw Error("trial " + std::to_string(trial) + " is not under way: begin it first");
  }
  shared_->expected = expected;
  shared_->collecting = true;
  shared_->changed.wait(lock, [&] { return shared_->state != Shared::State::kCounting; });
  return shared_->received;
}

void Sink::serve(Shared& shared, Link& link, int cpu, const OwnSink* own) {
  const std::uint32_t polls_per_yield = own == nullptr ? kPollsPerYield : kPollsPerYieldShared;
  if (cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }
  std::unique_ptr<Inlet> inlet;
  try {
    if (own != nullptr) enter(own->network_namespace);
    inlet = link.open_inlet();
  } catch (...) {
    shared.fault = std::current_exception();
  }
  std::unique_lock lock(shared.mutex);
  shared.state = Shared::State::kIdle;
  shared.changed.notify_all();
  while (!shared.fault) {
    shared.changed.wait(lock, [&] { return shared.state != Shared::State::kIdle; });
    if (shared.state == Shared::State::kEnding) return;
    lock.unlock();
    const Clock& clock = Clock::instance();
    const std::uint64_t start = clock.ticks();
    const std::uint64_t cpu_before = measure::thread_cpu_ns();
    const std::uint64_t dropped_before = inlet->dropped();
    const std::uint64_t quiet = clock.from_ns(static_cast<double>(kQuietNs));
    const datapath::Pause pause(clock);
    Tally tally;
    std::uint64_t heard = start;
    bool asked = false;
    for (std::uint32_t idle = 0;;) {
      if (inlet->take(tally, shared.trial.load(std::memory_order_relaxed)) != 0) {
        idle = 0;
        heard = clock.ticks();
        continue;
      }
      if (shared.collecting.load(std::memory_order_acquire)) {
        const std::uint64_t now = clock.ticks();
        // What was sent just before the request still has the whole time to come.
        if (!asked) heard = now;
        asked = true;
        if (tally.packets >= shared.expected.load(std::memory_order_relaxed)) break;
        // This thread may have lost its CPU since it looked: look once more.
        if (now - heard > quiet && inlet->take(tally, shared.trial.load(std::memory_order_relaxed)) == 0) break;
      }
      if (++idle % polls_per_yield == 0) {
        sched_yield();
      } else {
        pause();
      }
    }
    const Received received{tally, inlet->dropped() - dropped_before, static_cast<double>(measure::thread_cpu_ns() - cpu_before),
                            clock.to_ns(clock.ticks() - start)};
    lock.lock();
    shared.received = received;
    shared.state = Shared::State::kIdle;
    shared.changed.notify_all();
  }
}

}  // namespace dpubench::headroom
