#include "protocol/job.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/burst.hpp"
#include "protocol/reader.hpp"

namespace dpubench::protocol {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, Control>, 3> kControls = {
    {{"auto", Control::kAuto}, {"stepped", Control::kStepped}, {"traced", Control::kTraced}}};
constexpr std::uint32_t kMaxThreads = 1024;

JobGroup read_group(Reader& reader, const json& value, const std::string& where) {
  JobGroup group;
  if (!reader.object(value, where, {"id", "operator", "params", "threads", "burst", "footprint", "points"})) {
    return group;
  }
  reader.text(value, where, "id", group.id);
  reader.text(value, where, "operator", group.op);
  reader.number(value, where, "threads", group.threads, 1, kMaxThreads);
  reader.number(value, where, "burst", group.burst, 1, kMaxBurst);
  std::string footprint = "stream";
  reader.text(value, where, "footprint", footprint, false);
  if (footprint == "resident") {
    group.footprint = Footprint::kResident;
  } else if (footprint == "memory") {
    group.footprint = Footprint::kMemory;
  } else if (footprint != "stream") {
    reader.fault(where + "/footprint", "must be \"resident\", \"stream\" or \"memory\"");
  }
  reader.params(value, where, "params", group.params);
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

/// Check that the job can be traced: a trace has one thread that does one thing.
void require_traceable(Reader& reader, const Job& job) {
  if (job.operations == 0) reader.fault("/operations", "is missing: give the number of operations to trace");
  if (job.groups.size() != 1 || job.groups[0].points.size() != 1) {
    reader.fault("/groups", "must hold one group with one point: a trace has one point");
  } else if (job.groups[0].threads != 1) {
    reader.fault("/groups/0/threads", "must be 1: a trace has one thread");
  }
}

}  // namespace

Job parse_job(std::string_view text) {
  const json value = parse_json(text, "the job", kMaxJobBytes);
  Reader reader(kJobSchema);
  Job job;
  if (!reader.object(value, "",
                     {"schema", "seed", "round", "control", "operations", "inputs", "cache_dir", "cpus", "window", "cycles",
                      "canaries", "time_limit_s", "groups"})) {
    reader.finish();
  }
  std::string schema;
  reader.text(value, "", "schema", schema);
  if (!schema.empty() && schema != kJobSchema) reader.fault("/schema", "this program reads " + std::string(kJobSchema));
  reader.number(value, "", "seed", job.seed, 0, 9007199254740991.0);
  reader.number(value, "", "round", job.round, 0, 1e9);
  std::string control = "auto";
  reader.text(value, "", "control", control, false);
  const auto named = std::find_if(kControls.begin(), kControls.end(), [&](const auto& c) { return c.first == control; });
  if (named == kControls.end()) {
    reader.fault("/control", R"(must be "auto", "stepped" or "traced")");
  } else {
    job.control = named->second;
  }
  reader.number(value, "", "operations", job.operations, 1, 1e9);
  reader.inputs(value, job.inputs);
  std::string cache_dir;
  reader.text(value, "", "cache_dir", cache_dir, false);
  job.cache_dir = cache_dir;
  reader.cpus(value, "cpus", job.cpus);
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
  if (job.control == Control::kTraced) require_traceable(reader, job);
  reader.finish();
  return job;
}

Command parse_command(std::string_view line) {
  const json value = parse_json(line, "the command", kMaxJobBytes);
  if (value.is_object() && value.size() == 1) {
    if (const auto window = value.find("window"); window != value.end() && window->is_string()) {
      return {window->get<std::string>()};
    }
    if (const auto end = value.find("end"); end != value.end() && *end == true) return {};
  }
  throw Error("a command is {\"window\": POINT} or {\"end\": true}, not " + std::string(line.substr(0, 200)));
}

}  // namespace dpubench::protocol
