// dpubench-traffic: sends packets by an open-loop schedule and accounts for the packets that return. It reads a job and commands
// from standard input and writes events to standard output (docs/end-to-end.md).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "datapath/client/session.hpp"
#include "datapath/client/watch.hpp"
#include "datapath/memory.hpp"
#include "datapath/ports/port.hpp"
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
using nlohmann::json;

void warn(ClientSession& session, EventWriter& events) {
  for (const auto& warning : session.take_warnings()) events.warning(warning.code, warning.message);
}

ServerSession& server_of(ClientSession& session) {
  if (session.server() == nullptr) {
    throw Error("begin and collect need a server in the client's process: add server to the job");
  }
  return *session.server();
}

/// An executor of commands. It counts the trials.
class Obedience {
 public:
  Obedience(ClientSession& session, EventWriter& events) : session_(session), events_(events), watch_(events) {}

  /// Obey one command. @return false when the session must end
  bool obey(const Command& command) {
    return std::visit([this](const auto& one) { return carry_out(one); }, command);
  }
  [[nodiscard]] std::uint64_t trials() const { return trials_; }

 private:
  bool carry_out(const TrialSpec& spec) {
    Watch::Trial watched = watch_.trial(spec, session_.runner());
    json fields = session_.trial(spec, watched.stop());
    if (watched.stop()) return false;  // an interrupted trial does not count
    events_.write(event("trial", std::move(fields)));
    ++trials_;
    return true;
  }
  bool carry_out(const FillCommand& fill) {
    events_.write(event("filled", session_.fill(fill.trial)));
    return true;
  }
  bool carry_out(const CheckCommand& check) {
    events_.write(event("checked", session_.check(check.trial, check.dump)));
    return true;
  }
  bool carry_out(const BeginCommand& begin) {
    events_.write(event("begun", server_of(session_).begin(begin.trial, begin.how)));
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

/// Return the client's port, and the ports of a server in this process.
std::vector<PortSpec> ports_of(const TrafficJob& job) {
  std::vector<PortSpec> ports = {job.port};
  if (job.server) ports.insert(ports.end(), job.server->ports.begin(), job.server->ports.end());
  return ports;
}

class TrafficProgram final : public dpubench::programs::SessionProgram<TrafficJob> {
 public:
  TrafficProgram()
      : SessionProgram(
            "dpubench-traffic",
            "Sends packets and accounts for what comes back: reads a job and commands (JSON lines) from standard input "
            "and writes events (NDJSON) to standard output.",
            "print the catalog of workloads and kinds of ports as one hello event") {}

 private:
  [[nodiscard]] nlohmann::json catalog(const EngineCatalog& engines) const override {
    return {{"workloads", workload_catalog(engines)}, {"ports", port_catalog()}};
  }
  [[nodiscard]] TrafficJob parse(std::string_view text) const override { return parse_traffic_job(text); }
  std::uint64_t work(const TrafficJob& job, const EngineCatalog& engines, EventWriter& events, std::string& phase,
                     bool& working) override {
    start_eal(job.memory, port_devices(ports_of(job)));
    ClientSession session(job, engines, [&](std::string_view begun) { tell_begun(events, begun, phase); });
    warn(session, events);
    events.write(event("ready", session.ready()));
    phase = "trial";
    working = true;
    return obey_all(session, commands(), events);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return TrafficProgram().main(argc, argv);
}
