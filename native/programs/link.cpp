// dpubench-link: one end of a TCP connection whose latency or throughput is measured. It reads a job from standard input and
// writes events to standard output (docs/link-program.md).

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "link/greeting.hpp"
#include "link/job.hpp"
#include "link/latency.hpp"
#include "link/protection.hpp"
#include "link/tls.hpp"
#include "link/transfer.hpp"
#include "measure/clock.hpp"
#include "programs/frame.hpp"
#include "protocol/commands.hpp"
#include "protocol/deadline.hpp"

namespace {

using namespace dpubench::link;
using dpubench::Error;
using dpubench::protocol::Commands;
using dpubench::protocol::EventWriter;
using nlohmann::json;

void run_on(int cpu) {
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(cpu + 1), [](cpu_set_t* one) { CPU_FREE(one); });
  const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set.get());
  if (sched_setaffinity(0, bytes, set.get()) != 0)
    throw Error("cannot run on CPU " + std::to_string(cpu) + ": " + std::strerror(errno) +
                ": choose one that is online and allowed (taskset -p $$)");
}

json told(const char* name, const Taken& taken) {
  return {{"event", name},
          {"elapsed_ns", taken.elapsed_ns},
          {"cpu_ns", taken.cpu_ns},
          {"cpu_before", taken.cpu_before},
          {"cpu_after", taken.cpu_after}};
}

json told_transfer(const char* name, const Transferred& done, const std::string& cipher) {
  json event = told(name, done.taken);
  event.update({{"files", done.files}, {"bytes", done.bytes}, {"verified_bytes", done.verified_bytes}});
  if (!cipher.empty()) event["cipher"] = cipher;
  return event;
}

/// An end at work, from the job to the event with its result.
class End {
 public:
  End(const LinkJob& job, Commands& commands, EventWriter& events) : job_(job), watch_(&commands), events_(events) {
    if (job.role != Role::kClient) return;
    phase_ = Phase([&events](std::string_view begun) {
      events.write({{"event", "progress"}, {"phase", begun}, {"done", 0}, {"of", 1}});
    });
  }

  /// @throws Error
  void carry_out() {
    if (job_.cpu) run_on(*job_.cpu);
    events_.write(job_.role == Role::kServer ? serve() : ask());
  }
  [[nodiscard]] const Phase& phase() const { return phase_; }

 private:
  json serve() {
    prepare_tls();
    Listener listener(job_.address, job_.port);
    events_.write({{"event", "listening"}, {"port", listener.port()}});
    Socket& socket = socket_.emplace(listener.accept(watch_));
    greet(socket, job_);
    if (job_.test == Test::kLatency) {
      const Answered answered = answer_messages(socket, job_, phase_);
      json event = told("answered", answered.taken);
      event["messages"] = answered.messages;
      return event;
    }
    Channel& channel = protect(socket);
    return told_transfer("received", receive_files(channel, job_, watch_, phase_), channel.cipher());
  }

  json ask() {
    if (job_.test == Test::kLatency) {
      Socket& socket = connect();
      greet(socket, job_);
      const RoundTrips trips = measure_round_trips(socket, job_, phase_);
      json event = told("round_trips", trips.taken);
      event.update({{"messages", trips.messages}, {"verified", trips.verified}, {"times", trips.times.json()}});
      return event;
    }
    if (const std::string reason = lack(job_.protection); !reason.empty()) throw Error(reason);
    prepare_tls();
    const ContentFile file(job_.seed, job_.file_bytes);
    Socket& socket = connect();
    greet(socket, job_);
    Channel& channel = protect(socket);
    json event = told_transfer("transferred", send_files(channel, job_, file, phase_), channel.cipher());
    event["path"] = channel.path();
    return event;
  }

  Socket& connect() { return socket_.emplace(Socket::connect(job_.address, job_.port, watch_)); }
  void prepare_tls() {
    if (job_.test == Test::kTransfer && job_.protection != Protection::kPlain) tls_ = Tls::make(job_.role, job_.protection);
  }
  Channel& protect(Socket& socket) {
    if (!tls_) return socket;
    channel_ = tls_->open(socket);
    return *channel_;
  }

  const LinkJob& job_;
  Watch watch_;
  EventWriter& events_;
  Phase phase_;
  std::optional<Socket> socket_;
  std::unique_ptr<Tls> tls_;
  std::unique_ptr<Channel> channel_;
};

class LinkProgram final : public dpubench::programs::Program {
 public:
  LinkProgram()
      : Program(
            "dpubench-link",
            "Measures a TCP connection, as one of its ends: reads a job (JSON) from standard input and writes events (NDJSON) "
            "to standard output.",
            "print how transfers can be protected here as one hello event") {}

 private:
  [[nodiscard]] bool has_engines() const override { return false; }
  void begin() override { commands_.emplace(STDIN_FILENO); }
  [[nodiscard]] json catalog(const dpubench::EngineCatalog& /*engines*/) const override {
    return {{"protections", protection_catalog()}, {"job", kJobSchema}};
  }

  int run(const dpubench::EngineCatalog& /*engines*/, EventWriter& events, int out_fd) override {
    LinkJob job;
    try {
      const auto text = commands_->next();
      if (!text) throw Error("standard input ended before a job came");
      job = parse_link_job(*text);
    } catch (const Error& error) {
      return refuse(events, error.what());
    }
    const dpubench::protocol::Deadline deadline(job.time_limit_s, events, out_fd);
    const auto& clock = dpubench::measure::Clock::instance();
    const std::uint64_t start = clock.ticks();
    End end(job, *commands_, events);
    try {
      end.carry_out();
    } catch (const std::exception& error) {
      events.failure(end.phase().name(), error.what());
      std::cerr << name() << ": " << error.what() << '\n';
      return end.phase().name() == Phase::kPrepare ? dpubench::programs::kNothingRan : dpubench::programs::kFailed;
    }
    events.write({{"event", "done"},
                  {"results", 1},
                  {"failures", 0},
                  {"elapsed_s", clock.to_ns(clock.ticks() - start) * 1e-9},
                  {"clock",
                   {{"source", clock.source_name()},
                    {"hz", clock.hz()},
                    {"overhead_ns", clock.overhead_ns()},
                    {"resolution_ns", clock.resolution_ns()},
                    {"cross_check_ppm", clock.cross_check_ppm()}}}});
    return 0;
  }

  std::optional<Commands> commands_;
};

}  // namespace

int main(int argc, char** argv) {
  return LinkProgram().main(argc, argv);
}
