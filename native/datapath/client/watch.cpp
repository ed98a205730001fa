#include "datapath/client/watch.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "measure/clock.hpp"

namespace dpubench::datapath {
namespace {

constexpr int kStepMs = 100;
constexpr std::uint64_t kTellNs = 1'000'000'000;

/// Return whether a signal asks the program to end. Commands blocks these signals, and reads them between trials only.
bool asked_to_end() {
  sigset_t pending;
  if (sigpending(&pending) != 0) return false;
  return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGHUP) == 1;
}

void watch(protocol::EventWriter& events, int over, const TrialSpec& spec, const TrialRunner& runner, std::atomic<bool>& stop) {
  const std::uint64_t start_ns = measure::Clock::monotonic_raw_ns();
  std::uint64_t told_ns = start_ns;
  for (;;) {
    pollfd watched = {over, POLLIN, 0};
    if (poll(&watched, 1, kStepMs) < 0 && errno != EINTR) return;
    if (watched.revents != 0) return;
    if (asked_to_end() || events.closed()) {
      stop = true;
      return;
    }
    const std::uint64_t now_ns = measure::Clock::monotonic_raw_ns();
    if (now_ns - told_ns < kTellNs) continue;
    told_ns = now_ns;
    events.write({{"event", "progress"},
                  {"phase", "trial"},
                  {"trial", spec.number},
                  {"done", static_cast<double>(now_ns - start_ns) * 1e-9},
                  {"of", spec.ramp_s + spec.duration_s + spec.drain_s},
                  {"sent", runner.sent_so_far()},
                  {"received", runner.received_so_far()}});
  }
}

int make_eventfd() {
  const int fd = eventfd(0, EFD_CLOEXEC);
  if (fd < 0) throw Error(std::string("cannot watch a trial: eventfd: ") + std::strerror(errno));
  return fd;
}

}  // namespace

Watch::Watch(protocol::EventWriter& events) : events_(events) {
  // Name all CPUs. The kernel keeps to those that this process may use.
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &cpus_);
}

Watch::Trial::Trial(protocol::EventWriter& events, const cpu_set_t& cpus, const TrialSpec& spec, const TrialRunner& runner)
    : over_(make_eventfd()), thread_([this, &events, cpus, spec, &runner] {
        (void)pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
        watch(events, over_, spec, runner, stop_);
      }) {}

Watch::Trial::~Trial() {
  (void)eventfd_write(over_, 1);
  thread_.join();
  (void)close(over_);
}

}  // namespace dpubench::datapath
