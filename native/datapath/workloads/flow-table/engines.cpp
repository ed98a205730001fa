// The list of engines: those linked in, and the modules.
#include <algorithm>

#include "datapath/workloads/flow-table/engine.hpp"

namespace dpubench::datapath::flow_table {
namespace {

std::vector<const TableEngine*>& linked() {
  static std::vector<const TableEngine*> engines;
  return engines;
}

EngineEntry entry_of(const TableEngine& engine) {
  return {engine.name(), engine.summary(), engine.unavailable(), engine.port(), &engine};
}

std::vector<EngineEntry> find_all() {
  std::vector<EngineEntry> found;
  for (const TableEngine* const engine : linked()) found.push_back(entry_of(*engine));
  for (const StageModule& module : load_stage_modules("flow-table", kTableEngineAbi)) {
    const auto* const engine = static_cast<const TableEngine*>(module.engine);
    found.push_back(engine == nullptr ? EngineEntry{module.name, {}, module.reason, {}, nullptr} : entry_of(*engine));
  }
  std::sort(found.begin(), found.end(), [](const EngineEntry& a, const EngineEntry& b) {
    return std::pair(a.name != "portable", a.name) < std::pair(b.name != "portable", b.name);
  });
  return found;
}

}  // namespace

std::span<const EngineEntry> engines() {
  static const std::vector<EngineEntry> found = find_all();
  return found;
}

detail::EngineRegistrar::EngineRegistrar(const TableEngine& engine) {
  linked().push_back(&engine);
}

}  // namespace dpubench::datapath::flow_table
