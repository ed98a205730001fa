#include "operators/catalog.hpp"

#include <nlohmann/json.hpp>

#include "inputs/store.hpp"

namespace dpubench {
namespace {

using nlohmann::json;

/// Return, per engine name, why the engine cannot do `params`, or an empty string.
json reasons(std::span<const EngineSlot* const> slots, const Params& params) {
  json found = json::object();
  for (const EngineSlot* slot : slots) {
    found[slot->name] = !slot->reason.empty() ? slot->reason : slot->engine->unsupported(params);
  }
  return found;
}

void add_condition(json& entry, const OnlyWith& only_with) {
  if (!only_with.parameter.empty()) entry["only_with"] = {{only_with.parameter, only_with.value}};
}

}  // namespace

json describe_parameters(std::span<const Parameter> parameters) {
  json list = json::array();
  for (const Parameter& p : parameters) {
    json parameter = {{"name", p.name},       {"summary", p.summary}, {"values", p.values}, {"default", p.default_value},
                      {"is_mode", p.is_mode}, {"unit", p.unit}};
    if (p.is_number()) {
      parameter["min"] = p.min;
      parameter["max"] = p.max;
    }
    add_condition(parameter, p.only_with);
    list.push_back(std::move(parameter));
  }
  return list;
}

json describe_inputs(std::span<const InputKind> inputs) {
  json list = json::array();
  for (const InputKind& kind : inputs) {
    json input = {{"name", kind.name}};
    add_condition(input, kind.only_with);
    list.push_back(std::move(input));
  }
  return list;
}

namespace {

json describe(const Operator& op, const EngineCatalog& engines) {
  const OperatorInfo& info = op.info();
  json metrics = json::array();
  for (const Metric& m : info.metrics) {
    metrics.push_back({{"name", m.name}, {"unit", m.unit}, {"summary", m.summary}, {"higher_is_better", m.higher_is_better}});
  }
  const auto slots = engines.of(op);
  json engine_list = json::array();
  for (const EngineSlot* slot : slots) {
    json entry = {
        {"name", slot->name}, {"available", slot->reason.empty()}, {"reason", slot->reason}, {"summary", ""}, {"library", ""}};
    if (slot->engine != nullptr) {
      entry["summary"] = slot->engine->info().summary;
      entry["library"] = slot->engine->info().library;
      if (slot->engine->info().in_flight != 0) entry["in_flight"] = slot->engine->info().in_flight;
      if (slot->engine->info().software_device) entry["software_device"] = true;
    }
    engine_list.push_back(std::move(entry));
  }
  json configurations = json::array();
  for (const Params& params : op.configurations()) {
    configurations.push_back({{"params", params.all()}, {"engines", reasons(slots, params)}});
  }
  return {{"name", info.name},
          {"version", info.version},
          {"scenarios", info.scenarios},
          {"summary", info.summary},
          {"definition", info.definition},
          {"parameters", describe_parameters(info.parameters)},
          {"equivalence", equivalence_name(info.equivalence)},
          {"equivalence_text", info.equivalence_text},
          {"primary_metric", info.primary_metric},
          {"processes_all_bytes", info.processes_all_bytes},
          {"metrics", metrics},
          {"inputs", describe_inputs(info.inputs)},
          {"reference_engine", info.reference_engine},
          {"sources", info.sources},
          {"default_burst", info.default_burst},
          {"distinct_messages", info.distinct_items},
          {"keyed", info.keyed},
          {"engines", engine_list},
          {"configurations", configurations}};
}

}  // namespace

json catalog(const EngineCatalog& engines) {
  json operators_here = json::array();
  for (const Operator* op : operators()) operators_here.push_back(describe(*op, engines));
  return {{"operators", operators_here}};
}

json check_combinations(const EngineCatalog& engines, const std::string& combinations) {
  json checked = json::array();
  try {
    for (const json& one : json::parse(combinations)) {
      const std::string name = one.at("operator").get<std::string>();
      json answer = {{"invalid", ""}, {"engines", json::object()}};
      try {
        const Operator* op = find_operator(name);
        if (op == nullptr) throw Error("there is no operator '" + name + "'");
        Params given;
        for (const auto& [key, value] : one.at("params").items()) given.set(key, value.get<std::string>());
        answer["engines"] = reasons(engines.of(*op), op->complete(given));
      } catch (const Error& error) {
        answer["invalid"] = error.what();
      }
      checked.push_back(std::move(answer));
    }
  } catch (const json::exception& error) {
    throw Error(std::string("combinations: ") + error.what());
  }
  return {{"event", "checked"}, {"combinations", checked}};
}

json check_inputs(const std::string& files) {
  json checked = json::array();
  try {
    for (const json& one : json::parse(files)) {
      const std::string kind = one.at("kind").get<std::string>();
      std::string invalid;
      try {
        inputs::Store({{kind, {one.at("file").get<std::string>()}}}, 1).read(kind);
      } catch (const Error& error) {
        invalid = error.what();
      }
      checked.push_back({{"invalid", invalid}});
    }
  } catch (const json::exception& error) {
    throw Error(std::string("inputs: ") + error.what());
  }
  return {{"event", "checked"}, {"inputs", checked}};
}

}  // namespace dpubench
