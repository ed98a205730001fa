// dpubench-server: runs a network application on the packets of its ports. Job and commands on standard input, events on standard
// output; docs/end-to-end.md.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "build_info.hpp"
#include "datapath/commands.hpp"
#include "datapath/memory.hpp"
#include "datapath/ports/port.hpp"
#include "datapath/server/serve.hpp"
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
          {"program", "dpubench-server"},
          {"version", dpubench::kVersion},
          {"build", dpubench::protocol::build()},
          {"machine", dpubench::protocol::machine()}};
}

json event(const char* name, json fields) {
  fields["event"] = name;
  return fields;
}

void obey(const Command& command, ServerSession& session, EventWriter& events) {
  if (const auto* begin = std::get_if<BeginCommand>(&command)) {
    session.begin(begin->trial);
    events.write({{"event", "begun"}, {"trial", begin->trial}});
  } else if (const auto* collect = std::get_if<CollectCommand>(&command)) {
    events.write(event("served", session.collect(collect->trial, collect->dump)));
  } else {
    throw Error("a server takes the commands begin, collect and end");
  }
}

/// Obeys commands until they end. @returns how many trials were collected
std::uint64_t serve(ServerSession& session, Commands& commands, EventWriter& events) {
  std::uint64_t trials = 0;
  while (const auto line = commands.next()) {
    try {
      const Command command = parse_command(*line);
      if (std::holds_alternative<EndCommand>(command)) break;
      obey(command, session, events);
      if (std::holds_alternative<CollectCommand>(command)) ++trials;
    } catch (const Error& error) {
      events.failure("serve", error.what());
    }
    if (events.closed()) break;
  }
  return trials;
}

int run(const EngineCatalog& engines, Commands& commands, EventWriter& events, int out_fd) {
  ServerJob job;
  try {
    const auto text = commands.next();
    if (!text) throw Error("standard input ended before there was a job");
    job = parse_server_job(*text);
  } catch (const Error& error) {
    events.failure("job", error.what());
    std::cerr << "dpubench-server: " << error.what() << '\n';
    return kUsage;
  }
  const dpubench::protocol::Deadline deadline(job.time_limit_s, events, out_fd);
  const auto& clock = dpubench::measure::Clock::instance();
  const std::uint64_t start = clock.ticks();
  std::string phase = "prepare";
  std::uint64_t trials = 0;
  try {
    start_eal(job.memory, port_devices(job.ports));
    ServerSession session(job, engines, [&](std::string_view begun) {
      phase = begun == "ports" ? "ports" : "prepare";
      events.write({{"event", "progress"}, {"phase", begun}, {"done", 0}, {"of", 1}});
    });
    for (const auto& warning : session.warnings()) events.warning(warning.code, warning.message);
    events.write(event("ready", session.ready()));
    phase = "serve";
    trials = serve(session, commands, events);
  } catch (const std::exception& error) {
    events.failure(phase, error.what());
    std::cerr << "dpubench-server: " << error.what() << '\n';
    return phase == "serve" ? kFailed : kNothingRan;
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
      "Runs a network application on packets: reads a job and commands (JSON lines) from standard input and writes events "
      "(NDJSON) "
      "to standard output."};
  bool list = false;
  std::vector<std::string> folders;
  std::vector<std::string> devices;
  app.add_flag("--list", list, "print the catalog of workloads and kinds of ports as one hello event");
  app.add_option("--engine-dir", folders, "folder with further engine modules")->check(CLI::ExistingDirectory);
  app.add_option("--device", devices,
                 "device for the engines cryptodev, compressdev, dmadev and regexdev: a PCI address, or a DPDK virtual device")
      ->allow_extra_args(false);
  app.set_version_flag("--version", std::string(dpubench::kVersion));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  try {
    dpubench::name_devices(devices);
  } catch (const Error& error) {
    std::cerr << "dpubench-server: --device: " << error.what() << '\n';
    return kUsage;
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
    std::cerr << "dpubench-server: " << error.what() << '\n';
    return kFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return program(argc, argv);
  } catch (const std::exception& error) {  // before there was a writer of events, or when it failed itself
    std::fprintf(stderr, "dpubench-server: %s\n", error.what());
  } catch (...) {
    std::fputs("dpubench-server: ended by a fault of unknown type\n", stderr);
  }
  return 1;
}
