// dpubench-workloads: runs an end-to-end workload on one thread and without timing, to trace it. It reads a job from standard
// input and writes events to standard output (docs/applications.md).

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "datapath/memory.hpp"
#include "datapath/server/setting.hpp"
#include "datapath/traced/traced.hpp"
#include "datapath/workloads/workload.hpp"
#include "measure/clock.hpp"
#include "programs/frame.hpp"
#include "protocol/deadline.hpp"

namespace {

using namespace dpubench::datapath;
using nlohmann::json;

class Workloads final : public dpubench::programs::Program {
 public:
  Workloads()
      : Program("dpubench-workloads",
                "Runs a workload's stages on frames within one thread: reads a job (JSON) from standard input and writes events "
                "(NDJSON) to standard output.",
                "print the catalog of workloads as one hello event") {}

 private:
  void add_options(CLI::App& app) override {
    app.add_flag("--check", check_,
                 "read combinations of workload, parameters, engines and port (JSON lines) from standard input and say which are "
                 "possible, as one checked event");
  }
  [[nodiscard]] json catalog(const dpubench::EngineCatalog& engines) const override {
    return {{"workloads", workload_catalog(engines)}, {"job", kWorkloadJobSchema}};
  }
  bool answer(const dpubench::EngineCatalog& engines, dpubench::protocol::EventWriter& events) override {
    if (!check_) return false;
    json answers = json::array();
    for (std::string line; std::getline(std::cin, line);) answers.push_back(check_combination(engines, line));
    events.write({{"event", "checked"}, {"combinations", std::move(answers)}});
    return true;
  }

  int run(const dpubench::EngineCatalog& engines, dpubench::protocol::EventWriter& events, int out_fd) override {
    WorkloadJob job;
    try {
      job = parse_workload_job(std::string(std::istreambuf_iterator<char>(std::cin), {}));
    } catch (const dpubench::Error& error) {
      return refuse(events, error.what());
    }
    const dpubench::protocol::Deadline deadline(job.traffic.time_limit_s, events, out_fd);
    const auto& clock = dpubench::measure::Clock::instance();
    const std::uint64_t start = clock.ticks();
    try {
      start_eal(job.traffic.memory, {});
      events.write(run_traced(job, engines));
    } catch (const dpubench::Error& error) {
      events.failure("serve", error.what(), job.traffic.workload.name);
    }
    events.write({{"event", "done"},
                  {"results", events.failures() == 0 ? 1 : 0},
                  {"failures", events.failures()},
                  {"elapsed_s", clock.to_ns(clock.ticks() - start) * 1e-9}});
    return events.failures() == 0 ? 0 : dpubench::programs::kFailed;
  }

  bool check_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return Workloads().main(argc, argv);
}
