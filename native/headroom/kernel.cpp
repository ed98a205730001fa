#include "headroom/kernel.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "datapath/frame/size.hpp"
#include "datapath/ports/kernel_interface.hpp"
#include "measure/clock.hpp"
#include "measure/team.hpp"
#include "measure/thread_time.hpp"

namespace dpubench::headroom {
namespace {

using measure::Clock;
namespace fs = std::filesystem;

/// Work between two notes, in ns when it runs alone. A thread that gets no time does this much of its work in a trial at most.
constexpr double kChunkNs = 5e4;
/// Notes that a trial has room for before the list must grow.
constexpr std::size_t kUsualNotes = 1U << 15;

/// The file with the counters of all interfaces of the process's network namespace, held open: a reading takes some us.
class CountersFile {
 public:
  explicit CountersFile(const fs::path& file) : file_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) throw Error(file.string() + " cannot be read: " + std::strerror(errno));
  }
  CountersFile(const CountersFile&) = delete;
  CountersFile& operator=(const CountersFile&) = delete;
  ~CountersFile() { close(file_); }

  [[nodiscard]] std::string_view read() noexcept {
    std::size_t bytes = 0;
    for (ssize_t more = 0; bytes < text_.size(); bytes += static_cast<std::size_t>(more)) {
      more = pread(file_, text_.data() + bytes, text_.size() - bytes, static_cast<off_t>(bytes));
      if (more <= 0) break;
    }
    return {text_.data(), bytes};
  }

 private:
  int file_;
  std::array<char, 1U << 16> text_{};
};

std::string interface_of(const BackendSpec& backend, const char* which) {
  const auto given = backend.arguments.find("interface");
  std::string name = given == backend.arguments.end() ? "" : given->second;
  if (name.empty() || name == "." || name == ".." || name.find_first_of("/ \n") != std::string::npos) {
    throw Error(std::string("backend kernel: the argument 'interface' of the way ") + which +
                " is missing: the kernel interface there");
  }
  return name;
}

/// Check that the kernel forwards what comes in at `interface`. @throws Error
void require_forwarding(const fs::path& root, const std::string& interface) {
  const fs::path file = root / "sys/net/ipv4/conf" / interface / "forwarding";
  std::string value;
  std::getline(std::ifstream(file), value);
  if (value == "1") return;
  throw Error("backend kernel: the kernel does not forward packets that come in at " + interface + " (" + file.string() +
              (value.empty() ? " cannot be read" : " is " + value) + "): sysctl -w net.ipv4.conf." + interface +
              ".forwarding=1, with a route to the sink (ip route get ADDRESS)");
}

/// Let the calling thread run only when nothing else wants its CPU (sched(7)).
void become_last() {
  const sched_param none{};
  if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) {
    throw Error(std::string("backend kernel: sched_setscheduler(SCHED_IDLE): ") + std::strerror(errno));
  }
}

}  // namespace

InterfaceCounters counters_of(std::string_view text, const std::string& interface) {
  // A line is `name: ` and 16 numbers: received bytes, packets and 6 more; sent bytes, packets and 6 more (proc(5)).
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    const std::size_t colon = line.find(':');
    const std::size_t name = line.find_first_not_of(' ');
    if (colon == std::string_view::npos || line.substr(name, colon - name) != interface) continue;
    std::array<std::uint64_t, 10> numbers{};
    std::size_t place = colon + 1;
    bool whole = true;
    for (std::uint64_t& number : numbers) {
      place = std::min(line.find_first_not_of(' ', place), line.size());
      const auto [end, fault] = std::from_chars(line.data() + place, line.data() + line.size(), number);
      whole = whole && fault == std::errc();
      place = static_cast<std::size_t>(end - line.data());
    }
    if (whole) return {numbers[1], numbers[9]};
  }
  throw Error("backend kernel: the interface " + interface + " is gone, or the kernel tells no counters of it");
}

Stretch crossing(const std::vector<Note>& notes) {
  std::size_t first = 0;
  std::size_t last = 0;
  for (std::size_t i = 1; i < notes.size(); ++i) {
    if (notes[i].received == notes[i - 1].received) continue;
    if (first == 0) first = i;
    last = i;
  }
  if (first == 0) return {0, notes.size() - 1};
  return first < last - 1 ? Stretch{first, last - 1} : Stretch{first - 1, last};
}

/// The threads of the lowest priority, and what a trial of theirs needs.
struct KernelDevice::Threads {
  Threads(const HeadroomJob& given, const fs::path& given_root)
      : job(given),
        root(given_root),
        in(interface_of(given.backend, "in")),
        out(interface_of(given.out, "out")),
        clock(Clock::instance()),
        cpus(given.cpus.empty() ? measure::allowed_cpus() : given.cpus),
        team(static_cast<unsigned>(cpus.size()), cpus, given.seed),
        work(given.seed) {
    const std::uint32_t frame = given.max_packet + datapath::kFcsBytes;
    for (const std::string& interface : {in, out}) datapath::require_interface("kernel", interface, frame);
    require_forwarding(root, in);
    counters = std::make_unique<CountersFile>(root / "net/dev");
    team.run([](unsigned) { become_last(); });
    calibrate(Delay::kSpin);
  }

  /// Time the steps of a kind of work, on a thread of ordinary priority: those of the lowest may have to wait for long.
  void calibrate(Delay kind) {
    work.calibrate(kind, [&](const auto& call) { measure::ThreadTeam(1, {cpus.front()}).run([&](unsigned) { call(); }); });
  }

  [[nodiscard]] InterfaceCounters now(const std::string& interface) const { return counters_of(counters->read(), interface); }

  /// Work on every thread until the trial is collected.
  Forwarded run(const TrialSpec& spec);

  HeadroomJob job;
  fs::path root;
  std::string in;
  std::string out;
  const Clock& clock;
  std::vector<int> cpus;
  measure::ThreadTeam team;
  WorkSupply work;
  std::unique_ptr<CountersFile> counters;
  std::future<Forwarded> trial;
  std::uint32_t number = 0;
  bool is_open = false;
  std::uint64_t received_before = 0;
  std::uint64_t sent_before = 0;
  std::atomic<unsigned> ready = 0;
  std::atomic<bool> collecting = false;
};

Forwarded KernelDevice::Threads::run(const TrialSpec& spec) {
  std::vector<Forwarded> done(team.size());
  std::vector<double> share(team.size());
  team.run([&](unsigned thread) {
    const std::uint64_t chunk = work.steps(spec.delay, kChunkNs);
    Work own(spec.delay, work.table_of(spec.delay), thread);
    CountersFile file(root / "net/dev");
    std::vector<Note> notes;
    notes.reserve(kUsualNotes);
    const std::uint64_t cpu_before = measure::thread_cpu_ns();
    std::uint64_t steps = 0;
    const auto note = [&] { notes.push_back({clock.ticks(), steps, counters_of(file.read(), in).received}); };
    note();
    ++ready;
    do {
      own.do_steps(chunk);
      steps += chunk;
      note();
    } while (!collecting.load(std::memory_order_relaxed));
    const Stretch stretch = crossing(notes);
    const Note& from = notes[stretch.from];
    const Note& to = notes[stretch.to];
    done[thread].elapsed_ns = clock.to_ns(to.ticks - from.ticks);
    done[thread].open_ns = clock.to_ns(notes.back().ticks - notes.front().ticks);
    done[thread].cpu_ns = static_cast<double>(measure::thread_cpu_ns() - cpu_before);
    share[thread] = static_cast<double>(to.steps - from.steps) * work.step_ns(spec.delay) / done[thread].elapsed_ns;
  });
  Forwarded all;
  for (const Forwarded& one : done) {
    all.elapsed_ns = std::max(all.elapsed_ns, one.elapsed_ns);
    all.open_ns += one.open_ns;
    all.cpu_ns += one.cpu_ns;
  }
  for (const double part : share) all.inserted_ns += part * all.elapsed_ns;
  if (const WalkTable* const table = work.table_of(spec.delay)) all.table_bytes = table->bytes();
  return all;
}

KernelDevice::KernelDevice(const HeadroomJob& job, const fs::path& root) : threads_(std::make_unique<Threads>(job, root)) {}

KernelDevice::~KernelDevice() {
  threads_->collecting = true;
  if (threads_->trial.valid()) threads_->trial.wait();
}

void KernelDevice::begin(const TrialSpec& spec) {
  Threads& own = *threads_;
  if (own.is_open) throw Error("trial " + std::to_string(own.number) + " is under way: collect it before another one begins");
  if (spec.delay != Delay::kNone && !is_work(spec.delay)) {
    throw Error("backend kernel: the kernel forwards packets as they come: ask for spin, cache or memory beside it, not for " +
                std::string(word_of(spec.delay)));
  }
  const bool works = spec.delay != Delay::kNone;
  if (works) own.calibrate(spec.delay);
  own.received_before = own.now(own.in).received;
  own.sent_before = own.now(own.out).sent;
  own.number = spec.number;
  own.is_open = true;
  own.ready = 0;
  own.collecting = false;
  if (!works) return;
  own.trial = std::async(std::launch::async, [&own, spec] { return own.run(spec); });
  // A thread of the lowest priority may come late where the CPUs are busy: the trial begins all the same.
  const auto given_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (own.ready.load() < own.team.size() && std::chrono::steady_clock::now() < given_up) {
    if (own.trial.wait_for(std::chrono::microseconds(100)) == std::future_status::ready) break;
  }
}

Forwarded KernelDevice::collect(std::uint32_t trial, std::uint64_t /*expected*/) {
  Threads& own = *threads_;
  if (!own.is_open || own.number != trial) {
    throw Error("trial " + std::to_string(trial) + " is not under way: begin it first");
  }
  own.is_open = false;
  own.collecting = true;
  Forwarded all;
  if (own.trial.valid()) all = own.trial.get();
  // Whatever passes the interfaces is counted, also what is not of the trial.
  all.received = own.now(own.in).received - own.received_before;
  all.forwarded = own.now(own.out).sent - own.sent_before;
  all.dropped = all.received > all.forwarded ? all.received - all.forwarded : 0;
  return all;
}

nlohmann::json KernelDevice::described() const {
  return {{"kind", "kernel"},
          {"driver", "IPv4 forwarding of the kernel"},
          {"detail", "from " + threads_->in + " to " + threads_->out},
          {"mtu", threads_->job.max_packet}};
}

Pace KernelDevice::pace() const {
  return {threads_->team.pinned(), threads_->work.step_ns(Delay::kSpin), "the kernel's work runs outside the threads that count"};
}

}  // namespace dpubench::headroom
