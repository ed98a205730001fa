// dpubench-offload: one rank of study offload. Host ranks compute while worker ranks move the hosts' data with one-sided
// transfers. Rank 0 reads a job and commands from standard input and writes events to standard output (docs/offload-study.md).

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "offload/mpi/wire.hpp"
#include "offload/session.hpp"
#include "offload/ucx/transport.hpp"
#include "offload/watch.hpp"
#include "programs/session.hpp"

namespace {

using namespace dpubench::offload;
using dpubench::EngineCatalog;
using dpubench::Error;
using dpubench::programs::event;
using dpubench::protocol::EventWriter;

/// Time that other ranks leave to rank 0 to report a limit before they end.
constexpr double kGraceS = 2;

class Offload final : public dpubench::programs::SessionProgram<OffloadJob> {
 public:
  /// @param wire null without a launcher
  explicit Offload(MpiWire* wire)
      : SessionProgram(
            "dpubench-offload",
            "One rank of study offload, to be started by mpirun or srun with --role host or --role worker. Rank 0 reads a "
            "job and commands (JSON lines) from standard input and writes events (NDJSON) to standard output.",
            "print the catalog of patterns, paths, assignments and transports as one hello event"),
        wire_(wire) {}

 private:
  void add_options(CLI::App& app) override {
    app.add_option("--role", role_, "what this rank does: host computes, worker moves data")
        ->check(CLI::IsMember({"host", "worker"}));
  }
  [[nodiscard]] bool has_engines() const override { return false; }
  [[nodiscard]] nlohmann::json catalog(const EngineCatalog& /*engines*/) const override {
    nlohmann::json found = session_catalog();
    found["transports"] = {{{"name", "ucx"}, {"version", ucx_version()}}};
    found["mpi"] = mpi_version();
    return found;
  }
  [[nodiscard]] std::optional<std::string> next_line() override {
    if (wire_ == nullptr) {
      throw Error(
          "no --role is given: start the ranks with mpirun -np H dpubench-offload --role host : -np W dpubench-offload --role "
          "worker");
    }
    return wire_->share(wire_->rank() == 0 ? commands().next() : std::nullopt);
  }
  [[nodiscard]] OffloadJob parse(std::string_view text) const override {
    OffloadJob job = parse_job(text);
    if (job.transport != "ucx") throw Error("/transport: must be ucx, not '" + job.transport + "'");
    if (wire_->rank() != 0) job.time_limit_s += kGraceS;
    return job;
  }
  std::uint64_t work(const OffloadJob& job, const EngineCatalog& /*engines*/, EventWriter& events, std::string& phase,
                     bool& working) override {
    const double limit_s = job.limit_s + (wire_->rank() == 0 ? 0 : kGraceS);
    Watch watch(events, commands().descriptors()[0]);
    const Stages stages{[&](std::string_view begun) {
                          phase = begun;
                          events.write({{"event", "progress"}, {"phase", begun}, {"done", 0}, {"of", 1}});
                          watch.begin(begun, limit_s);
                        },
                        [&] { watch.end(); }};
    const auto transport = open_ucx();
    const dpubench::measure::MemoryMeter meter;
    Session session(job, role_ == "host" ? Role::kHost : Role::kWorker, *wire_, *transport, stages, meter);
    events.write(event("opened", session.opened()));
    phase = "trial";
    working = true;
    std::uint64_t trials = 0;
    while (const auto line = next_line()) {
      phase = "trial";
      try {
        const auto spec = command_of(*line);
        if (!spec) break;
        events.write(event("trial", session.trial(*spec)));
        ++trials;
      } catch (const Agreed& error) {  // all ranks have it: they go on together
        events.failure(phase, error.what());
      }
      watch.end();
    }
    return trials;
  }
  /// Parse a command. @throws Agreed since all ranks read the same line
  static std::optional<TrialSpec> command_of(const std::string& line) {
    try {
      return parse_command(line);
    } catch (const Error& error) {
      throw Agreed(error.what());
    }
  }

  MpiWire* wire_;
  std::string role_;
};

/// Return whether this process is a rank, before its options are read in full: MPI starts first.
bool is_rank(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* word) { return std::string_view(word).starts_with("--role"); });
}

int run(int argc, char** argv) {
  if (!is_rank(argc, argv)) return Offload(nullptr).main(argc, argv);
  // Threads of MPI inherit this: a signal must reach the program's own descriptor.
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const auto wire = open_mpi(&argc, &argv);
  if (wire->rank() != 0) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) throw Error("cannot open /dev/null");
    dup2(nowhere, STDOUT_FILENO);  // rank 0 alone writes events
    close(nowhere);
  }
  const int status = Offload(wire.get()).main(argc, argv);
  wire->close(status);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "dpubench-offload: " << error.what() << '\n';
  }
  return dpubench::programs::kFailed;
}
