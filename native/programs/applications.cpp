// dpubench-applications: runs one whole application on one input. It reads a job from standard input and writes events to
// standard output (docs/applications.md).

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "applications/catalog.hpp"
#include "applications/job.hpp"
#include "measure/clock.hpp"
#include "programs/frame.hpp"
#include "protocol/deadline.hpp"

namespace {

using namespace dpubench::applications;
using nlohmann::json;

class Applications final : public dpubench::programs::Program {
 public:
  Applications()
      : Program("dpubench-applications",
                "Runs a whole application: reads a job (JSON) from standard input and writes events (NDJSON) to standard output.",
                "print the catalog of applications as one hello event") {}

 private:
  void add_options(CLI::App& app) override {
    app.add_flag("--check", check_,
                 "read applications and their parameters (JSON) from standard input and say which exist, as one checked event");
  }
  [[nodiscard]] bool has_engines() const override { return false; }
  void begin() override { applications_.load(default_application_folder()); }
  [[nodiscard]] json catalog(const dpubench::EngineCatalog& /*engines*/) const override {
    return {{"applications", applications_.describe()}, {"job", kJobSchema}};
  }
  bool answer(const dpubench::EngineCatalog& /*engines*/, dpubench::protocol::EventWriter& events) override {
    if (!check_) return false;
    events.write(check_applications(applications_, std::string(std::istreambuf_iterator<char>(std::cin), {})));
    return true;
  }

  int run(const dpubench::EngineCatalog& /*engines*/, dpubench::protocol::EventWriter& events, int out_fd) override {
    ApplicationJob job;
    try {
      job = parse_application_job(std::string(std::istreambuf_iterator<char>(std::cin), {}));
    } catch (const dpubench::Error& error) {
      return refuse(events, error.what());
    }
    const dpubench::protocol::Deadline deadline(job.time_limit_s, events, out_fd);
    const auto& clock = dpubench::measure::Clock::instance();
    const std::uint64_t start = clock.ticks();
    Phase phase;
    try {
      events.write(run_application(job, applications_, phase));
    } catch (const dpubench::Error& error) {
      events.failure(phase.name, error.what(), job.application);
    }
    events.write({{"event", "done"},
                  {"results", events.failures() == 0 ? 1 : 0},
                  {"failures", events.failures()},
                  {"elapsed_s", clock.to_ns(clock.ticks() - start) * 1e-9}});
    return events.failures() == 0 ? 0 : dpubench::programs::kFailed;
  }

  ApplicationCatalog applications_;
  bool check_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return Applications().main(argc, argv);
}
