// dpubench-headroom: sends bursts of packets with a delay between them, forwards them, or counts them at the other end. It reads
// a job and commands from standard input and writes events to standard output (docs/headroom-study.md).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "datapath/memory.hpp"
#include "headroom/session.hpp"
#include "programs/session.hpp"
#include "protocol/commands.hpp"

namespace {

using namespace dpubench::headroom;
using dpubench::EngineCatalog;
using dpubench::Error;
using dpubench::programs::event;
using dpubench::protocol::EventWriter;

/// Obey commands until they end. @returns the number of trials
std::uint64_t obey_all(HeadroomSession& session, dpubench::protocol::Commands& commands, EventWriter& events) {
  std::uint64_t trials = 0;
  while (const auto line = commands.next()) {
    try {
      const Command command = parse_command(*line);
      if (std::holds_alternative<EndCommand>(command)) break;
      events.write(session.obey(command));
      if (!std::holds_alternative<BeginCommand>(command) && !std::holds_alternative<ForwardCommand>(command)) ++trials;
    } catch (const Error& error) {
      events.failure("trial", error.what());
    }
    if (events.closed()) break;
  }
  return trials;
}

class Headroom final : public dpubench::programs::SessionProgram<HeadroomJob> {
 public:
  Headroom()
      : SessionProgram(
            "dpubench-headroom",
            "Sends bursts of packets with a delay between them, forwards or counts them: reads a job and commands (JSON lines) "
            "from standard input and writes events (NDJSON) to standard output.",
            "print the catalog of back-ends and kinds of ports as one hello event") {}

 private:
  [[nodiscard]] nlohmann::json catalog(const EngineCatalog& /*engines*/) const override {
    return {{"backends", backend_catalog()}, {"ports", dpubench::datapath::port_catalog()}};
  }
  [[nodiscard]] HeadroomJob parse(std::string_view text) const override { return parse_job(text); }
  std::uint64_t work(const HeadroomJob& job, const EngineCatalog& engines, EventWriter& events, std::string& phase,
                     bool& working) override {
    if (job.backend.kind == "port") {
      std::vector ports{job.backend.port};
      if (job.part == Part::kForwarder) ports.push_back(job.out.port);
      dpubench::datapath::start_eal(job.memory, dpubench::datapath::port_devices(ports));
    }
    HeadroomSession session(job, engines, [&](std::string_view begun) {
      phase = begun;
      events.write({{"event", "progress"}, {"phase", begun}, {"done", 0}, {"of", 1}});
    });
    events.write(event("opened", session.ready()));
    phase = "trial";
    working = true;
    return obey_all(session, commands(), events);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return Headroom().main(argc, argv);
}
