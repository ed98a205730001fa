#include "programs/frame.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "build_info.hpp"
#include "operators/catalog.hpp"
#include "operators/devices.hpp"
#include "protocol/machine.hpp"

namespace dpubench::programs {

using nlohmann::json;

json Program::hello() const {
  json build = protocol::build();
  describe(build);
  return {{"event", "hello"},    {"schema", protocol::kEventSchema}, {"program", name_},
          {"version", kVersion}, {"build", std::move(build)},        {"machine", protocol::machine()}};
}

int Program::refuse(protocol::EventWriter& events, const char* why) const {
  events.failure("job", why);
  std::cerr << name_ << ": " << why << '\n';
  return kUsage;
}

int Program::carry_out(bool list, const std::vector<std::string>& folders) {
  std::signal(SIGPIPE, SIG_IGN);  // the event writer notices when its reader goes away
  // Libraries print to standard output as they like (DPDK does). Events keep the real one; all others get standard error.
  std::FILE* out = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  protocol::EventWriter events(out);
  try {
    begin();
    EngineCatalog engines;
    if (has_engines()) engines.load(default_engine_folder());
    for (const std::string& folder : folders) engines.load(folder);
    json first = hello();
    if (list) first["catalog"] = catalog(engines);
    events.write(first);
    const int status = answer(engines, events) || list ? 0 : run(engines, events, fileno(out));
    return events.closed() ? kFailed : status;
  } catch (const std::exception& error) {
    events.failure("job", error.what());
    std::cerr << name_ << ": " << error.what() << '\n';
    return kFailed;
  }
}

int Program::start(int argc, char** argv) {
  CLI::App app{summary_};
  bool list = false;
  std::vector<std::string> folders;
  std::vector<std::string> devices;
  app.add_flag("--list", list, listed_);
  if (has_engines()) {
    app.add_option("--engine-dir", folders, "folder with further engine modules")->check(CLI::ExistingDirectory);
    app.add_option("--device", devices,
                   "device for the engines cryptodev, compressdev, dmadev and regexdev: a PCI address, or a DPDK virtual device")
        ->allow_extra_args(false);
  }
  app.set_version_flag("--version", std::string(kVersion));
  add_options(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  try {
    name_devices(devices);
  } catch (const Error& error) {
    std::cerr << name_ << ": --device: " << error.what() << '\n';
    return kUsage;
  }
  return carry_out(list, folders);
}

int Program::main(int argc, char** argv) noexcept {
  try {
    return start(argc, argv);
  } catch (const std::exception& error) {  // before a writer of events existed, or when the writer failed
    std::fprintf(stderr, "%s: %s\n", name_.c_str(), error.what());
  } catch (...) {
    std::fprintf(stderr, "%s: ended by an unknown error\n", name_.c_str());
  }
  return kFailed;
}

}  // namespace dpubench::programs
