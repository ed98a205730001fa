// dpubench-traffic: sends packets by an open-loop schedule and accounts for what comes back. Job and commands on standard input,
// events on standard output; docs/end-to-end.md.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "build_info.hpp"
#include "datapath/client/session.hpp"
#include "datapath/client/watch.hpp"
#include "datapath/commands.hpp"
#include "datapath/memory.hpp"
#include "measure/clock.hpp"
#include "operators/devices.hpp"
#include "protocol/deadline.hpp"
#include "protocol/machine.hpp"

namespace {

using namespace dpubench::datapath;
using dpubench::EngineCatalog;
using dpubench::Error;
using dpubench::protocol::EventWriter;
using nlohmann::json;

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kNothingRan = 4;

json hello() {
  return {{"event", "hello"},
          {"schema", dpubench::protocol::kEventSchema},
          {"program", "dpubench-traffic"},
          {"version", dpubench::kVersion},
          {"build", dpubench::protocol::build()},
          {"machine", dpubench::protocol::machine()}};
}

json event(const char* name, json fields) {
  fields["event"] = name;
  return fields;
}

void warn(ClientSession& session, EventWriter& events) {
  for (const auto& warning : session.take_warnings()) events.warning(warning.code, warning.message);
}

ServerSession& server_of(ClientSession& session) {
  if (session.server() == nullptr) {
    throw Error("begin and collect are for the server; this job has none in the client's process");
  }
  return *session.server();
}

/// Runs trials while commands come. @return how many
class Obedience {
 public:
  Obedience(ClientSession& session, EventWriter& events) : session_(session), events_(events), watch_(events) {}

  /// @return false when nothing more shall be done
  bool obey(const Command& command) {
    return std::visit([this](const auto& one) { return carry_out(one); }, command);
  }
  [[nodiscard]] std::uint64_t trials() const { return trials_; }

 private:
  bool carry_out(const TrialSpec& spec) {
    Watch::Trial watched = watch_.trial(spec, session_.runner());
    json fields = session_.trial(spec, watched.stop());
    if (watched.stop()) return false;  // half a trial is none
    events_.write(event("trial", std::move(fields)));
    ++trials_;
    return true;
  }
  bool carry_out(const CheckCommand& check) {
    events_.write(event("checked", session_.check(check.trial, check.dump)));
    return true;
  }
  bool carry_out(const BeginCommand& begin) {
    server_of(session_).begin(begin.trial);
    events_.write({{"event", "begun"}, {"trial", begin.trial}});
    return true;
  }
  bool carry_out(const CollectCommand& collect) {
    events_.write(event("served", server_of(session_).collect(collect.trial, collect.dump)));
    return true;
  }
  bool carry_out(const EndCommand&) { return false; }

  ClientSession& session_;
  EventWriter& events_;
  Watch watch_;
  std::uint64_t trials_ = 0;
};

std::uint64_t obey_all(ClientSession& session, Commands& commands, EventWriter& events) {
  Obedience obedience(session, events);
  while (const auto line = commands.next()) {
    try {
      if (!obedience.obey(parse_command(*line))) break;
    } catch (const Error& error) {
      events.failure("trial", error.what());
    }
    warn(session, events);
    if (events.closed()) break;
  }
  return obedience.trials();
}

/// The client's port, and those of a server in this process.
std::vector<PortSpec> ports_of(const TrafficJob& job) {
  std::vector<PortSpec> ports = {job.port};
  if (job.server) ports.insert(ports.end(), job.server->ports.begin(), job.server->ports.end());
  return ports;
}

int run(const EngineCatalog& engines, Commands& commands, EventWriter& events, int out_fd) {
  TrafficJob job;
  try {
    const auto text = commands.next();
    if (!text) throw Error("standard input ended before there was a job");
    job = parse_traffic_job(*text);
  } catch (const Error& error) {
    events.failure("job", error.what());
    std::cerr << "dpubench-traffic: " << error.what() << '\n';
    return kUsage;
  }
  const dpubench::protocol::Deadline deadline(job.time_limit_s, events, out_fd);
  const auto& clock = dpubench::measure::Clock::instance();
  const std::uint64_t start = clock.ticks();
  std::string phase = "prepare";
  std::uint64_t trials = 0;
  try {
    start_eal(job.memory, port_devices(ports_of(job)));
    ClientSession session(job, engines, [&](std::string_view begun) {
      phase = begun == "ports" ? "ports" : "prepare";
      events.write({{"event", "progress"}, {"phase", begun}, {"done", 0}, {"of", 1}});
    });
    warn(session, events);
    events.write(event("ready", session.ready()));
    phase = "trial";
    trials = obey_all(session, commands, events);
  } catch (const std::exception& error) {
    events.failure(phase, error.what());
    std::cerr << "dpubench-traffic: " << error.what() << '\n';
    return phase == "trial" ? kFailed : kNothingRan;
  }
  events.write({{"event", "done"},
                {"trials", trials},
                {"failures", events.failures()},
                {"elapsed_s", clock.to_ns(clock.ticks() - start) * 1e-9},
                {"clock",
                 {{"source", clock.source_name()},
                  {"hz", clock.hz()},
                  {"overhead_ns", clock.overhead_ns()},
                  {"resolution_ns", clock.resolution_ns()},
                  {"cross_check_ppm", clock.cross_check_ppm()}}}});
  return events.failures() == 0 ? 0 : kFailed;
}

int program(int argc, char** argv) {
  CLI::App app{
      "Sends packets and accounts for what comes back: reads a job and commands (JSON lines) from standard input and writes "
      "events "
      "(NDJSON) to standard output."};
  bool list = false;
  std::vector<std::string> folders;
  app.add_flag("--list", list, "print the catalog of workloads and kinds of ports as one hello event");
  app.add_option("--engine-dir", folders, "folder with further engine modules")->check(CLI::ExistingDirectory);
  app.set_version_flag("--version", std::string(dpubench::kVersion));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is noticed by the writer
  // Libraries print to standard output as they please (DPDK does): events keep the real one, everybody else gets standard error.
  std::FILE* out = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  EventWriter events(out);
  try {
    Commands commands(STDIN_FILENO);
    EngineCatalog engines;
    engines.load(dpubench::default_engine_folder());
    for (const std::string& folder : folders) engines.load(folder);
    json first = hello();
    if (list) first["catalog"] = {{"workloads", workload_catalog(engines)}, {"ports", port_catalog()}};
    events.write(first);
    const int status = list ? 0 : run(engines, commands, events, fileno(out));
    return events.closed() ? kFailed : status;
  } catch (const std::exception& error) {
    events.failure("job", error.what());
    std::cerr << "dpubench-traffic: " << error.what() << '\n';
    return kFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return program(argc, argv);
  } catch (const std::exception& error) {  // before there was a writer of events, or when it failed itself
    std::fprintf(stderr, "dpubench-traffic: %s\n", error.what());
  } catch (...) {
    std::fputs("dpubench-traffic: ended by a fault of unknown type\n", stderr);
  }
  return 1;
}
