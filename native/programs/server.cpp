// dpubench-server: runs a network application on the packets of its ports. It reads a job and commands from standard input and
// writes events to standard output (docs/end-to-end.md).

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "datapath/memory.hpp"
#include "datapath/ports/port.hpp"
#include "datapath/server/serve.hpp"
#include "datapath/server/setting.hpp"
#include "datapath/workloads/workload.hpp"
#include "programs/session.hpp"
#include "protocol/commands.hpp"

namespace {

using namespace dpubench::datapath;
using dpubench::EngineCatalog;
using dpubench::Error;
using dpubench::programs::event;
using dpubench::protocol::Commands;
using dpubench::protocol::EventWriter;

void obey(const Command& command, ServerSession& session, EventWriter& events) {
  if (const auto* begin = std::get_if<BeginCommand>(&command)) {
    events.write(event("begun", session.begin(begin->trial, begin->how)));
  } else if (const auto* collect = std::get_if<CollectCommand>(&command)) {
    events.write(event("served", session.collect(collect->trial, collect->dump)));
  } else {
    throw Error("this command is not for a server: send begin, collect or end");
  }
}

/// Obey commands until they end. @returns the number of collected trials
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

class Server final : public dpubench::programs::SessionProgram<ServerJob> {
 public:
  Server()
      : SessionProgram("dpubench-server",
                       "Runs a network application on packets: reads a job and commands (JSON lines) from standard input and "
                       "writes events (NDJSON) to standard output.",
                       "print the catalog of workloads and kinds of ports as one hello event") {}

 private:
  [[nodiscard]] nlohmann::json catalog(const EngineCatalog& engines) const override {
    return {{"workloads", workload_catalog(engines)}, {"ports", port_catalog()}};
  }
  void add_options(CLI::App& app) override {
    app.add_flag("--check", check_,
                 "read combinations of workload, parameters, engines and port (JSON lines) from standard input and say which are "
                 "possible, as one checked event");
  }
  bool answer(const EngineCatalog& engines, EventWriter& events) override {
    if (!check_) return false;
    nlohmann::json answers = nlohmann::json::array();
    while (const auto line = commands().next()) answers.push_back(check_combination(engines, *line));
    events.write({{"event", "checked"}, {"combinations", std::move(answers)}});
    return true;
  }
  [[nodiscard]] ServerJob parse(std::string_view text) const override { return parse_server_job(text); }
  std::uint64_t work(const ServerJob& job, const EngineCatalog& engines, EventWriter& events, std::string& phase,
                     bool& working) override {
    start_eal(job.memory, port_devices(job.ports));
    ServerSession session(job, engines, [&](std::string_view begun) { tell_begun(events, begun, phase); });
    for (const auto& warning : session.warnings()) events.warning(warning.code, warning.message);
    events.write(event("ready", session.ready()));
    phase = "serve";
    working = true;
    return serve(session, commands(), events);
  }

  bool check_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return Server().main(argc, argv);
}
