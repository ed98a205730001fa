#include "protocol/job.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace dpubench::protocol {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxFaults = 10;
constexpr std::uint32_t kMaxThreads = 1024;
constexpr std::uint32_t kMaxBurst = 256;
constexpr std::uint32_t kMaxInFlight = 4096;
constexpr int kMaxDepth = 16;

/// Reads fields with their types and ranges, and collects what is wrong instead of stopping at the first fault.
class Reader {
 public:
  void fault(const std::string& where, const std::string& what) {
    if (faults_.size() < kMaxFaults) faults_.push_back((where.empty() ? "the job" : where) + ": " + what);
  }
  void finish() const {
    if (faults_.empty()) return;
    std::string message = "the job cannot be run:";
    for (const std::string& line : faults_) message += "\n  " + line;
    throw Error(message);
  }

  bool object(const json& value, const std::string& where, const std::set<std::string_view>& known) {
    if (!value.is_object()) {
      fault(where, "must be an object");
      return false;
    }
    for (const auto& [key, unused] : value.items()) {
      if (!known.contains(key)) fault(where + "/" + key, "is not a field of a " + std::string(kJobSchema));
    }
    return true;
  }

  void text(const json& parent, const std::string& where, const char* key, std::string& into, bool required = true) {
    const auto it = parent.find(key);
    if (it == parent.end()) {
      if (required) fault(where + "/" + key, "is missing");
    } else if (!it->is_string() || it->get_ref<const std::string&>().empty()) {
      fault(where + "/" + key, "must be a text that is not empty");
    } else {
      into = it->get<std::string>();
    }
  }

  template <class T>
  void number(const json& parent, const std::string& where, const char* key, T& into, double least, double most) {
    const auto it = parent.find(key);
    if (it == parent.end()) return;
    const bool fits = std::is_floating_point_v<T> ? it->is_number() : it->is_number_integer();
    const double value = fits ? it->get<double>() : 0;
    if (!fits || value < least || value > most) {
      fault(where + "/" + key, "must be a " + std::string(std::is_floating_point_v<T> ? "number" : "whole number") + " from " +
                                   json(least).dump() + " to " + json(most).dump());
    } else {
      into = it->get<T>();
    }
  }

  void boolean(const json& parent, const std::string& where, const char* key, bool& into) {
    const auto it = parent.find(key);
    if (it == parent.end()) return;
    if (!it->is_boolean()) {
      fault(where + "/" + key, "must be true or false");
    } else {
      into = it->get<bool>();
    }
  }

  /// The array `key` of `parent`; null (and a fault, if it is there or required) when there is none.
  const json* array(const json& parent, const std::string& where, const char* key, bool required) {
    const auto it = parent.find(key);
    if (it == parent.end()) {
      if (required) fault(where + "/" + key, "is missing");
      return nullptr;
    }
    if (!it->is_array()) {
      fault(where + "/" + key, "must be an array");
      return nullptr;
    }
    return &*it;
  }

 private:
  std::vector<std::string> faults_;
};

JobGroup read_group(Reader& reader, const json& value, const std::string& where) {
  JobGroup group;
  if (!reader.object(value, where, {"id", "operator", "params", "threads", "burst", "footprint", "points"})) return group;
  reader.text(value, where, "id", group.id);
  reader.text(value, where, "operator", group.op);
  reader.number(value, where, "threads", group.threads, 1, kMaxThreads);
  reader.number(value, where, "burst", group.burst, 1, kMaxBurst);
  std::string footprint = "stream";
  reader.text(value, where, "footprint", footprint, false);
  if (footprint != "stream" && footprint != "resident") reader.fault(where + "/footprint", "must be \"stream\" or \"resident\"");
  group.footprint = footprint == "resident" ? Footprint::kResident : Footprint::kStream;
  if (const auto params = value.find("params"); params != value.end()) {
    if (!params->is_object()) {
      reader.fault(where + "/params", "must be an object");
    } else {
      for (const auto& [name, text] : params->items()) {
        if (text.is_string()) {
          group.params.set(name, text.get<std::string>());
        } else {
          reader.fault(where + "/params/" + name, "must be a text (numbers too: \"1024\")");
        }
      }
    }
  }
  if (const json* points = reader.array(value, where, "points", true)) {
    if (points->empty()) reader.fault(where + "/points", "must hold at least one point");
    for (std::size_t i = 0; i < points->size(); ++i) {
      const std::string place = where + "/points/" + std::to_string(i);
      JobPoint point;
      if (reader.object((*points)[i], place, {"id", "engine", "in_flight"})) {
        reader.text((*points)[i], place, "id", point.id);
        reader.text((*points)[i], place, "engine", point.engine);
        reader.number((*points)[i], place, "in_flight", point.in_flight, 1, kMaxInFlight);
        if (point.in_flight != 0 && point.in_flight < group.burst) {
          reader.fault(place + "/in_flight", "must be at least the burst, " + std::to_string(group.burst) +
                                                 ": a burst is submitted whole; leave it out for the engine's default");
        }
      }
      group.points.push_back(std::move(point));
    }
  }
  return group;
}

void read_inputs(Reader& reader, const json& inputs, Job& job) {
  for (const auto& [kind, paths] : inputs.items()) {
    const std::string where = "/inputs/" + kind;
    if (!paths.is_array()) {
      reader.fault(where, "must be an array of paths");
      continue;
    }
    for (const json& path : paths) {
      if (path.is_string() && !path.get_ref<const std::string&>().empty()) {
        job.inputs[kind].emplace_back(path.get<std::string>());
      } else {
        reader.fault(where, "must hold paths only");
      }
    }
  }
}

json parse_json(std::string_view text, const char* what) {
  if (text.size() > kMaxJobBytes)
    throw Error(std::string(what) + " is larger than " + std::to_string(kMaxJobBytes >> 20) + " MiB");
  // The library recurses on nesting: refuse depths that no job has before they become a stack overflow.
  int depth = 0;
  const auto too_deep = [&depth](int, json::parse_event_t event, json&) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) ++depth;
    if (event == json::parse_event_t::object_end || event == json::parse_event_t::array_end) --depth;
    if (depth > kMaxDepth) throw Error("the job is nested deeper than " + std::to_string(kMaxDepth) + " levels");
    return true;
  };
  try {
    return json::parse(text, too_deep);
  } catch (const json::exception& fault) {
    throw Error(std::string(what) + " is no JSON: " + fault.what());
  }
}

}  // namespace

Job parse_job(std::string_view text) {
  const json value = parse_json(text, "the job");
  Reader reader;
  Job job;
  if (!reader.object(value, "",
                     {"schema", "seed", "round", "control", "inputs", "cache_dir", "cpus", "window", "cycles", "canaries",
                      "time_limit_s", "groups"})) {
    reader.finish();
  }
  std::string schema;
  reader.text(value, "", "schema", schema);
  if (!schema.empty() && schema != kJobSchema) reader.fault("/schema", "this program reads " + std::string(kJobSchema));
  reader.number(value, "", "seed", job.seed, 0, 9007199254740991.0);
  reader.number(value, "", "round", job.round, 0, 1e9);
  std::string control = "auto";
  reader.text(value, "", "control", control, false);
  if (control != "auto" && control != "stepped") reader.fault("/control", "must be \"auto\" or \"stepped\"");
  job.stepped = control == "stepped";
  if (const auto inputs = value.find("inputs"); inputs != value.end()) {
    if (inputs->is_object()) {
      read_inputs(reader, *inputs, job);
    } else {
      reader.fault("/inputs", "must be an object");
    }
  }
  std::string cache_dir;
  reader.text(value, "", "cache_dir", cache_dir, false);
  job.cache_dir = cache_dir;
  if (const json* cpus = reader.array(value, "", "cpus", false)) {
    for (const json& cpu : *cpus) {
      if (cpu.is_number_integer() && cpu.get<double>() >= 0 && cpu.get<double>() < kMaxThreads) {
        job.cpus.push_back(cpu.get<int>());
      } else {
        reader.fault("/cpus", "must hold CPU numbers only");
      }
    }
  }
  if (const auto window = value.find("window");
      window != value.end() && reader.object(*window, "/window", {"min_ms", "max_ms", "min_bursts", "threaded_min_ms"})) {
    reader.number(*window, "/window", "min_ms", job.window.min_ms, 0.1, 60'000);
    reader.number(*window, "/window", "max_ms", job.window.max_ms, 0.1, 60'000);
    reader.number(*window, "/window", "min_bursts", job.window.min_bursts, 1, 1e9);
    reader.number(*window, "/window", "threaded_min_ms", job.window.threaded_min_ms, 0.1, 60'000);
  }
  reader.number(value, "", "cycles", job.cycles, 1, 1e6);
  reader.boolean(value, "", "canaries", job.canaries);
  reader.number(value, "", "time_limit_s", job.time_limit_s, 0.1, 864'000);
  std::set<std::string> ids;
  if (const json* groups = reader.array(value, "", "groups", true)) {
    if (groups->empty()) reader.fault("/groups", "must hold at least one group");
    for (std::size_t i = 0; i < groups->size(); ++i) {
      job.groups.push_back(read_group(reader, (*groups)[i], "/groups/" + std::to_string(i)));
      for (const JobPoint& point : job.groups.back().points) {
        if (!point.id.empty() && !ids.insert(point.id).second) {
          reader.fault("/groups/" + std::to_string(i), "the point id '" + point.id + "' is used twice");
        }
      }
    }
  }
  reader.finish();
  return job;
}

Command parse_command(std::string_view line) {
  const json value = parse_json(line, "the command");
  if (value.is_object() && value.size() == 1) {
    if (const auto window = value.find("window"); window != value.end() && window->is_string()) {
      return {window->get<std::string>()};
    }
    if (const auto end = value.find("end"); end != value.end() && *end == true) return {};
  }
  throw Error("a command is {\"window\": POINT} or {\"end\": true}, not " + std::string(line.substr(0, 200)));
}

}  // namespace dpubench::protocol
