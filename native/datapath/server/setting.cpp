#include "datapath/server/setting.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"

namespace dpubench::datapath {
namespace {

using nlohmann::json;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

/// Return all engines of a stage: its own and those of its operator.
std::vector<StageEngineInfo> engines_of(const StageInfo& stage, const EngineCatalog& engines) {
  std::vector<StageEngineInfo> found = stage.engines;
  const Operator* const op = stage.op.empty() ? nullptr : find_operator(stage.op);
  if (op != nullptr) {
    for (const EngineSlot* slot : engines.of(*op)) found.push_back({slot->name, {}, slot->reason});
  }
  return found;
}

/// Return the engine of this name. @throws Error when the stage has none of that name
const StageEngineInfo& engine_of(const StageInfo& stage, const std::string& name, const std::vector<StageEngineInfo>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const StageEngineInfo& engine) { return engine.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> known;
  for (const StageEngineInfo& engine : all) known.push_back(engine.name);
  throw Error("stage " + stage.name + " has no engine '" + name + "'; it has: " + listed(known));
}

/// Return why packets of a port of this kind do not come to `engine`, or an empty string if they do.
std::string port_fault(const StageEngineInfo& engine, const std::vector<StageEngineInfo>& all, std::string_view kind) {
  if (engine.port == kind) return {};
  if (!engine.port.empty()) return "needs a port of kind " + engine.port + ": choose that port, or another engine";
  const auto kinds = port_kinds();
  const bool elsewhere = std::any_of(kinds.begin(), kinds.end(), [&](const PortKind* port) {
    return port->info().name == kind && port->info().answers_elsewhere;
  });
  if (!elsewhere) return {};
  std::vector<std::string> able;
  for (const StageEngineInfo& other : all) {
    if (other.port == kind) able.push_back(other.name);
  }
  return "packets of a port of kind " + std::string(kind) + " are answered before a loop of the server sees them: " +
         (able.empty() ? "use another kind of port" : "use engine " + listed(able));
}

void require_engine(const StageInfo& stage, const std::string& name, const EngineCatalog& engines, std::string_view port_kind) {
  const std::vector<StageEngineInfo> all = engines_of(stage, engines);
  const StageEngineInfo& engine = engine_of(stage, name, all);
  const std::string which = "engine " + name + " of stage " + stage.name;
  if (!engine.reason.empty()) throw Error(which + " cannot run here: " + engine.reason);
  if (const std::string fault = port_fault(engine, all, port_kind); !fault.empty()) throw Error(which + ": " + fault);
}

/// Fill in the engines and stages of `setting`. Return, per stage, why its engine does not do `setting`, or an empty string.
json faults_of(const Workload& workload, Setting& setting, const json& given, const EngineCatalog& engines) {
  json faults = json::object();
  for (const StageInfo& stage : workload.info().stages) {
    setting.engines[stage.name] = given.value(stage.name, stage.default_engine);
    setting.stages.push_back(stage.name);
  }
  for (const StageInfo& stage : workload.info().stages) {
    const std::vector<StageEngineInfo> all = engines_of(stage, engines);
    const StageEngineInfo& engine = engine_of(stage, setting.engines[stage.name], all);
    std::string fault = engine.reason.empty() ? port_fault(engine, all, setting.port_kind) : "";
    if (fault.empty() && engine.reason.empty()) fault = stage_engine_unsupported(workload.info().name, engine.name, setting);
    faults[stage.name] = fault;
  }
  return faults;
}

}  // namespace

const Workload& require_workload(std::string_view name) {
  if (const Workload* const workload = find_workload(name); workload != nullptr) return *workload;
  std::vector<std::string> names;
  for (const Workload* known : workloads()) names.push_back(known->info().name);
  throw Error("there is no workload '" + std::string(name) + "'; there are: " + listed(names));
}

Setting complete_setting(const Workload& workload, const ServerJob& job, const EngineCatalog& engines) {
  const WorkloadInfo& info = workload.info();
  Setting setting;
  setting.params = workload.complete(job.workload.params);
  if (!job.ports.empty()) setting.port_kind = job.ports.front().kind;
  std::vector<std::string> names;
  for (const StageInfo& stage : info.stages) names.push_back(stage.name);
  const auto require_stage = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(info.name + " has no stage '" + name + "'; it has: " + listed(names));
    }
  };
  for (const std::string& name : job.stages) require_stage(name);
  for (const auto& [name, unused] : job.workload.engines) require_stage(name);
  for (const StageInfo& stage : info.stages) {
    const auto named = job.workload.engines.find(stage.name);
    setting.engines[stage.name] = named == job.workload.engines.end() ? stage.default_engine : named->second;
    const bool runs = job.stages.empty() || std::find(job.stages.begin(), job.stages.end(), stage.name) != job.stages.end();
    if (!runs) continue;
    require_engine(stage, setting.engines[stage.name], engines, setting.port_kind);
    setting.stages.push_back(stage.name);
  }
  setting.max_frame = job.max_frame;
  setting.burst = job.burst;
  setting.seed = job.seed;
  return setting;
}

json check_combination(const EngineCatalog& engines, std::string_view combination) {
  json answer = {{"invalid", ""}, {"engines", json::object()}};
  try {
    const json one = json::parse(combination);
    const Workload& workload = require_workload(one.at("workload").get<std::string>());
    Params given;
    for (const auto& [key, value] : one.at("params").items()) given.set(key, value.get<std::string>());
    Setting setting;
    setting.port_kind = one.at("port").get<std::string>();
    setting.cores = one.at("cpus").get<std::uint32_t>();
    setting.max_frame = one.at("max_frame").get<std::uint32_t>();
    try {
      setting.params = workload.complete(given);
      answer["engines"] = faults_of(workload, setting, one.at("engines"), engines);
    } catch (const Error& error) {
      answer["invalid"] = error.what();
    }
  } catch (const json::exception& error) {
    throw Error(std::string("a combination: ") + error.what());
  }
  return answer;
}

}  // namespace dpubench::datapath
