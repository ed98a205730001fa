// dpubench-operators: measures operators. It reads a job from standard input and writes events to standard output
// (docs/architecture.md).

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/layout.hpp"
#include "operators/catalog.hpp"
#include "operators/harness.hpp"
#include "programs/frame.hpp"
#include "protocol/deadline.hpp"

namespace {

using dpubench::EngineCatalog;
using dpubench::protocol::EventWriter;
using nlohmann::json;

/// Return the job: the first line if it is a whole JSON text (a stepped session continues after it), else the whole input.
std::string read_job(std::istream& in) {
  std::string text;
  std::getline(in, text);
  if (json::accept(text)) return text;
  const std::string rest((std::istreambuf_iterator<char>(in)), {});
  return text + '\n' + rest;
}

class Operators final : public dpubench::programs::Program {
 public:
  Operators()
      : Program("dpubench-operators",
                "Measures DPU operators: reads a job (JSON) from standard input and writes events (NDJSON) to standard output.",
                "print the catalog of operators and engines as one hello event") {}

 private:
  void add_options(CLI::App& app) override {
    app.add_flag("--check", check_,
                 "read combinations of parameters (JSON) from standard input and say which exist, as one checked event");
    app.add_flag("--check-inputs", check_inputs_,
                 "read kinds and files (JSON) from standard input and say which cannot be used, as one checked event");
  }
  void describe(json& build) const override {
    const dpubench::Layout layout = dpubench::layout();
    build["layout"] = layout.number;
    build["layouts"] = layout.count;
  }
  [[nodiscard]] json catalog(const EngineCatalog& engines) const override { return dpubench::catalog(engines); }
  bool answer(const EngineCatalog& engines, EventWriter& events) override {
    if (!check_ && !check_inputs_) return false;
    const std::string question(std::istreambuf_iterator<char>(std::cin), {});
    events.write(check_ ? dpubench::check_combinations(engines, question) : dpubench::check_inputs(question));
    return true;
  }
  int run(const EngineCatalog& engines, EventWriter& events, int out_fd) override {
    dpubench::protocol::Job job;
    try {
      job = dpubench::protocol::parse_job(read_job(std::cin));
    } catch (const dpubench::Error& error) {
      return refuse(events, error.what());
    }
    const dpubench::protocol::Deadline deadline(job.time_limit_s, events, out_fd);
    return static_cast<int>(dpubench::run_job(job, engines, events, std::cin));
  }

  bool check_ = false;
  bool check_inputs_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return Operators().main(argc, argv);
}
