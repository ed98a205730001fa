#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "datapath/workloads/workload.hpp"
#include "operators/catalog.hpp"

namespace dpubench::datapath {
namespace {

using nlohmann::json;

// A function-local static: registrars of other translation units may run before this one is initialised.
std::vector<const Workload*>& registry() {
  static std::vector<const Workload*> all;
  return all;
}

json describe_engines(const StageInfo& stage, const EngineCatalog& engines) {
  json list = json::array();
  const auto add = [&list](const std::string& name, const std::string& summary, const std::string& reason) {
    list.push_back({{"name", name}, {"summary", summary}, {"available", reason.empty()}, {"reason", reason}});
  };
  for (const StageEngineInfo& engine : stage.engines) {
    add(engine.name, engine.summary, engine.reason);
    if (!engine.port.empty()) list.back()["port"] = engine.port;
  }
  const Operator* const op = stage.op.empty() ? nullptr : find_operator(stage.op);
  if (op == nullptr) return list;
  for (const EngineSlot* slot : engines.of(*op)) {
    add(slot->name, slot->engine == nullptr ? "" : slot->engine->info().summary, slot->reason);
  }
  return list;
}

json describe_workload(const Workload& workload, const EngineCatalog& engines) {
  const WorkloadInfo& info = workload.info();
  json stages = json::array();
  for (const StageInfo& stage : info.stages) {
    stages.push_back({{"name", stage.name},
                      {"summary", stage.summary},
                      {"operator", stage.op},
                      {"default_engine", stage.default_engine},
                      {"engines", describe_engines(stage, engines)}});
  }
  return {{"name", info.name},
          {"summary", info.summary},
          {"definition", info.definition},
          {"parameters", describe_parameters(info.parameters)},
          {"stages", stages},
          {"inputs", describe_inputs(info.inputs)},
          {"sources", info.sources}};
}

}  // namespace

namespace detail {
WorkloadRegistrar::WorkloadRegistrar(const Workload& workload) {
  registry().push_back(&workload);
}
}  // namespace detail

std::span<const Workload* const> workloads() {
  std::vector<const Workload*>& all = registry();
  std::sort(all.begin(), all.end(), [](const Workload* a, const Workload* b) { return a->info().name < b->info().name; });
  return all;
}

const Workload* find_workload(std::string_view name) {
  const auto all = workloads();
  const auto it = std::find_if(all.begin(), all.end(), [&](const Workload* workload) { return workload->info().name == name; });
  return it == all.end() ? nullptr : *it;
}

json workload_catalog(const EngineCatalog& engines) {
  json list = json::array();
  for (const Workload* workload : workloads()) list.push_back(describe_workload(*workload, engines));
  return list;
}

Params Workload::complete(const Params& given) const {
  Params full = dpubench::complete(info().name, info().parameters, given);
  if (const std::string reason = invalid(full); !reason.empty()) throw Error(info().name + ": " + reason);
  return full;
}

}  // namespace dpubench::datapath
