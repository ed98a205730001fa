// dpubench-operators: measures operators. Job on standard input, events on standard output; docs/architecture.md.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "build_info.hpp"
#include "operators/catalog.hpp"
#include "operators/devices.hpp"
#include "operators/harness.hpp"
#include "protocol/deadline.hpp"
#include "protocol/machine.hpp"

namespace {

using dpubench::EngineCatalog;
using nlohmann::json;

constexpr int kUsage = 2;

json hello() {
  return {{"event", "hello"},
          {"schema", dpubench::protocol::kEventSchema},
          {"program", "dpubench-operators"},
          {"version", dpubench::kVersion},
          {"build", dpubench::protocol::build()},
          {"machine", dpubench::protocol::machine()}};
}

/// The job: the first line when it is one JSON text by itself (a stepped session goes on after it), else all of the input.
std::string read_job(std::istream& in) {
  std::string text;
  std::getline(in, text);
  if (json::accept(text)) return text;
  const std::string rest((std::istreambuf_iterator<char>(in)), {});
  return text + '\n' + rest;
}

int run(const EngineCatalog& engines, dpubench::protocol::EventWriter& events, int out_fd) {
  dpubench::protocol::Job job;
  try {
    job = dpubench::protocol::parse_job(read_job(std::cin));
  } catch (const dpubench::Error& error) {
    events.failure("job", error.what());
    std::cerr << "dpubench-operators: " << error.what() << '\n';
    return kUsage;
  }
  const dpubench::protocol::Deadline deadline(job.time_limit_s, events, out_fd);
  return static_cast<int>(dpubench::run_job(job, engines, events, std::cin));
}

int program(int argc, char** argv) {
  CLI::App app{"Measures DPU operators: reads a job (JSON) from standard input and writes events (NDJSON) to standard output."};
  bool list = false;
  bool check = false;
  std::vector<std::string> folders;
  std::vector<std::string> devices;
  app.add_flag("--list", list, "print the catalog of operators and engines as one hello event");
  app.add_flag("--check", check,
               "read combinations of parameters (JSON) from standard input and say which exist, as one checked event");
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
  } catch (const dpubench::Error& error) {
    std::cerr << "dpubench-operators: --device: " << error.what() << '\n';
    return kUsage;
  }
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is noticed by the writer
  // Libraries print to standard output as they please (DPDK does): events keep the real one, everybody else gets standard error.
  std::FILE* out = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  dpubench::protocol::EventWriter events(out);
  try {
    EngineCatalog engines;
    engines.load(dpubench::default_engine_folder());
    for (const std::string& folder : folders) engines.load(folder);
    json first = hello();
    if (list) first["catalog"] = dpubench::catalog(engines);
    events.write(first);
    if (check) events.write(dpubench::check_combinations(engines, std::string(std::istreambuf_iterator<char>(std::cin), {})));
    const int status = list || check ? 0 : run(engines, events, fileno(out));
    return events.closed() ? 1 : status;
  } catch (const std::exception& error) {
    events.failure("job", error.what());
    std::cerr << "dpubench-operators: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return program(argc, argv);
  } catch (const std::exception& error) {  // before there was a writer of events, or when it failed itself
    std::fprintf(stderr, "dpubench-operators: %s\n", error.what());
  } catch (...) {
    std::fputs("dpubench-operators: ended by a fault of unknown type\n", stderr);
  }
  return 1;
}
