// dpubench-cores: computes how many cycles a described processor needs for a trace. It reads a job from standard input and writes
// events to standard output (docs/cores.md).

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "cores/model/job.hpp"
#include "cores/model/run_job.hpp"
#include "measure/clock.hpp"
#include "programs/frame.hpp"
#include "protocol/deadline.hpp"

namespace {

using nlohmann::json;

class Cores final : public dpubench::programs::Program {
 public:
  Cores()
      : Program(
            "dpubench-cores",
            "Models processors: reads a job (JSON) with processors and traces from standard input and writes events (NDJSON) to "
            "standard output. Its results are computed, not measured.",
            "print the parts of a processor description as one hello event") {}

 private:
  void add_options(CLI::App& app) override {
    app.add_flag("--check", check_,
                 "read processors and extents (JSON) from standard input and say what is wrong with each, as one checked event");
  }
  [[nodiscard]] bool has_engines() const override { return false; }

  [[nodiscard]] json catalog(const dpubench::EngineCatalog& /*engines*/) const override {
    return {{"kinds", dpubench::cores::kKindNames},
            {"policies", {"single", "strict", "skip_not_ready", "switch_on_stall", "icount.N.M", "rr.N.M"}},
            {"predictors", {"perfect", "bimodal", "gshare", "tournament", "tage"}},
            {"job", dpubench::cores::kJobSchema}};
  }

  bool answer(const dpubench::EngineCatalog& /*engines*/, dpubench::protocol::EventWriter& events) override {
    if (!check_) return false;
    events.write(dpubench::cores::check_configurations(std::string(std::istreambuf_iterator<char>(std::cin), {})));
    return true;
  }

  int run(const dpubench::EngineCatalog& /*engines*/, dpubench::protocol::EventWriter& events, int out_fd) override {
    dpubench::cores::CoresJob job;
    try {
      job = dpubench::cores::parse_cores_job(std::string(std::istreambuf_iterator<char>(std::cin), {}));
    } catch (const dpubench::Error& error) {
      return refuse(events, error.what());
    }
    const dpubench::protocol::Deadline deadline(job.time_limit_s, events, out_fd);
    const auto& clock = dpubench::measure::Clock::instance();
    const std::uint64_t start = clock.ticks();
    const std::size_t results = dpubench::cores::run_job(job, events);
    events.write({{"event", "done"},
                  {"results", results},
                  {"failures", events.failures()},
                  {"elapsed_s", clock.to_ns(clock.ticks() - start) * 1e-9}});
    if (results == 0) return dpubench::programs::kNothingRan;
    return events.failures() == 0 ? 0 : dpubench::programs::kFailed;
  }

  bool check_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return Cores().main(argc, argv);
}
