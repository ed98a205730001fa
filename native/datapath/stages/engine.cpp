// The engines of stages: those linked in, and the modules.
#include "datapath/stages/engine.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "datapath/stages/modules.hpp"

namespace dpubench::datapath {
namespace {

using Entries = std::vector<StageEngineEntry>;

/// Workload -> its engines that are linked in. A function-local static: registrars of other translation units may run before this
/// one is initialised.
std::map<std::string, std::vector<const StageEngine*>, std::less<>>& linked() {
  static std::map<std::string, std::vector<const StageEngine*>, std::less<>> engines;
  return engines;
}

StageEngineEntry entry_of(const StageEngine& engine) {
  return {{engine.name(), engine.summary(), engine.unavailable(), engine.port()}, &engine};
}

Entries find_all(std::string_view workload) {
  Entries found;
  if (const auto own = linked().find(workload); own != linked().end()) {
    for (const StageEngine* const engine : own->second) found.push_back(entry_of(*engine));
  }
  for (const StageModule& module : load_stage_modules(workload)) {
    found.push_back(module.engine == nullptr ? StageEngineEntry{{module.name, {}, module.reason}, nullptr}
                                             : entry_of(*module.engine));
  }
  std::sort(found.begin(), found.end(), [](const StageEngineEntry& a, const StageEngineEntry& b) {
    return std::pair(a.info.name != "portable", a.info.name) < std::pair(b.info.name != "portable", b.info.name);
  });
  return found;
}

const StageEngineEntry* find(std::string_view workload, std::string_view name) {
  const auto all = stage_engines(workload);
  const auto entry = std::find_if(all.begin(), all.end(), [&](const StageEngineEntry& one) { return one.info.name == name; });
  return entry == all.end() ? nullptr : &*entry;
}

/// The pipeline of a process in which the stage does not run.
class EmptyPipeline final : public Pipeline {
 public:
  [[nodiscard]] std::vector<StageReport> report() const override { return {}; }
  [[nodiscard]] std::vector<std::unique_ptr<Stage>> open(std::uint32_t /*core*/) override { return {}; }
};

}  // namespace

namespace detail {

StageEngineRegistrar::StageEngineRegistrar(const char* workload, const StageEngine& engine) {
  linked()[workload].push_back(&engine);
}

}  // namespace detail

std::span<const StageEngineEntry> stage_engines(std::string_view workload) {
  static std::mutex mutex;
  static std::map<std::string, Entries, std::less<>> known;
  const std::scoped_lock lock(mutex);
  auto found = known.find(workload);
  if (found == known.end()) found = known.emplace(workload, find_all(workload)).first;
  return found->second;
}

std::vector<StageEngineInfo> stage_engine_infos(std::string_view workload) {
  std::vector<StageEngineInfo> infos;
  for (const StageEngineEntry& entry : stage_engines(workload)) infos.push_back(entry.info);
  return infos;
}

std::string stage_engine_unsupported(std::string_view workload, std::string_view name, const Setting& setting) {
  const StageEngineEntry* const entry = find(workload, name);
  return entry == nullptr || entry->engine == nullptr ? "" : entry->engine->unsupported(setting);
}

std::unique_ptr<Pipeline> open_stage_engine(const std::string& workload, const std::string& stage, const Setting& setting,
                                            inputs::Store& store) {
  if (std::find(setting.stages.begin(), setting.stages.end(), stage) == setting.stages.end())
    return std::make_unique<EmptyPipeline>();
  const std::string& name = setting.engines.at(stage);
  const StageEngineEntry* const entry = find(workload, name);
  if (entry == nullptr) {
    std::string known;
    for (const StageEngineEntry& one : stage_engines(workload)) known += (known.empty() ? "" : ", ") + one.info.name;
    throw Error(workload + ": its stage has no engine '" + name + "'; it has " + known);
  }
  std::string reason = entry->info.reason;
  if (reason.empty()) reason = entry->engine->unsupported(setting);
  if (!reason.empty()) throw Error(workload + ", engine " + name + ": " + reason);
  return entry->engine->open(setting, store);
}

}  // namespace dpubench::datapath
