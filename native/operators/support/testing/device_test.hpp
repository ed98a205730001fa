// Helpers for tests of device engines: the engines that can run here, and the events of a job.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "operators/harness.hpp"
#include "operators/support/testing/built_engines.hpp"

namespace dpubench::device_test {

/// Return the engines of an operator whose names begin with `prefix` and that can run here; empty in a build without them.
inline std::vector<const Engine*> software_engines(std::string_view op, std::string_view prefix) {
  std::vector<const Engine*> found;
  const Operator* const known = find_operator(op);
  if (known == nullptr) return found;
  for (const EngineSlot* slot : test::engines().of(*known)) {
    if (slot->name.starts_with(prefix) && slot->reason.empty()) found.push_back(slot->engine);
  }
  return found;
}

/// Return the events of a job with one configuration and short windows.
inline std::vector<nlohmann::json> run(const std::string& op, const nlohmann::json& params, const nlohmann::json& points,
                                       const nlohmann::json& more) {
  using nlohmann::json;
  json group = {{"id", "g"}, {"operator", op}, {"params", params}, {"points", points}, {"footprint", "resident"}};
  group.update(more);
  const json job = {{"schema", "dpubench.job/1"},
                    {"cycles", 1},
                    {"canaries", false},
                    {"groups", json::array({group})},
                    {"inputs", {{"corpus", json::array({"/proc/self/exe"})}}},
                    {"window", {{"min_ms", 0.2}, {"max_ms", 50}, {"min_bursts", 20}, {"threaded_min_ms", 5}}}};
  char* buffer = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&buffer, &size);
  protocol::EventWriter writer(out);
  std::istringstream commands;
  run_job(protocol::parse_job(job.dump()), test::engines(), writer, commands);
  std::fclose(out);
  std::istringstream lines(std::string(buffer, size));
  std::free(buffer);  // NOLINT: open_memstream allocates with malloc
  std::vector<json> events;
  for (std::string line; std::getline(lines, line);) events.push_back(json::parse(line));
  return events;
}

inline std::vector<nlohmann::json> of(const std::vector<nlohmann::json>& events, const std::string& kind) {
  std::vector<nlohmann::json> found;
  std::copy_if(events.begin(), events.end(), std::back_inserter(found),
               [&](const nlohmann::json& e) { return e["event"] == kind; });
  return found;
}

}  // namespace dpubench::device_test
