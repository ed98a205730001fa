#include "offload/job.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "protocol/reader.hpp"

namespace dpubench::offload {
namespace {

using nlohmann::json;
using protocol::Reader;

constexpr std::size_t kMostText = 1U << 20;
constexpr double kMaxSeed = 9007199254740991.0;
constexpr double kMostRanks = 65'536;

/// Read a text that must be one of `words`, and return its place. A key that is missing leaves `into` as it is.
template <class Enum, std::size_t N>
void choice(Reader& reader, const json& parent, const char* key, const std::array<std::string_view, N>& words, Enum& into) {
  std::string word = word_of(words, into);
  reader.text(parent, "", key, word, false);
  const auto* const found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) {
    into = static_cast<Enum>(found - words.begin());
    return;
  }
  std::string all;
  for (const std::string_view known : words) all += (all.empty() ? "" : ", ") + std::string(known);
  reader.fault("/" + std::string(key), "must be one of " + all + ", not '" + word + "'");
}

void read_cpus(Reader& reader, const json& value, OffloadJob& job) {
  const auto it = value.find("cpus");
  if (it == value.end() || !reader.object(*it, "/cpus", {"host", "worker"})) return;
  reader.cpus(*it, "host", job.host_cpus);  // faults name /host and /worker
  reader.cpus(*it, "worker", job.worker_cpus);
}

void read_attached(Reader& reader, const json& value, OffloadJob& job) {
  const auto it = value.find("attached");
  if (it == value.end()) return;
  if (!it->is_object()) return reader.fault("/attached", "must be an object");
  for (const auto& [device, host] : it->items()) {
    if (host.is_string()) {
      job.attached[device] = host.get<std::string>();
    } else {
      reader.fault("/attached/" + device, "must be the name of the host's node");
    }
  }
}

}  // namespace

OffloadJob parse_job(std::string_view text) {
  const json value = protocol::parse_json(text, "the job", kMostText);
  Reader reader(kJobSchema);
  OffloadJob job;
  if (reader.object(value, "",
                    {"schema", "seed", "time_limit_s", "hosts", "workers", "transport", "emulated", "largest_bytes", "limit_s",
                     "cpus", "attached"})) {
    std::string schema;
    reader.text(value, "", "schema", schema);
    if (!schema.empty() && schema != kJobSchema) reader.fault("/schema", "this program reads " + std::string(kJobSchema));
    reader.number(value, "", "seed", job.seed, 0, kMaxSeed);
    reader.number(value, "", "time_limit_s", job.time_limit_s, 0.1, 864'000);
    reader.number(value, "", "hosts", job.hosts, 1, kMostRanks);
    reader.number(value, "", "workers", job.workers, 1, kMostRanks);
    if (reader.sound("/hosts") && reader.sound("/workers") && job.workers > job.hosts) {
      reader.fault("/workers", "must be at most the number of hosts, " + std::to_string(job.hosts) +
                                   ": a worker without a host has nothing to move");
    }
    reader.text(value, "", "transport", job.transport, false);
    bool allow = false;
    choice(reader, value, "emulated", std::array<std::string_view, 2>{"refuse", "allow"}, allow);
    job.allow_emulated = allow;
    reader.number(value, "", "largest_bytes", job.largest_bytes, 1, static_cast<double>(kMostBytes));
    reader.number(value, "", "limit_s", job.limit_s, 0.1, 86'400);
    read_cpus(reader, value, job);
    read_attached(reader, value, job);
  }
  reader.finish();
  return job;
}

std::optional<TrialSpec> parse_command(std::string_view line) {
  const json value = protocol::parse_json(line, "the command", kMostText);
  if (value.is_object()) {
    if (const auto end = value.find("end"); end != value.end() && *end == true && value.size() == 1) return std::nullopt;
  }
  if (!value.is_object() || !value.contains("command") || value.at("command") != "trial") {
    throw Error(R"(a command is {"command": "trial", "pattern": ...} or {"end": true}, not )" + std::string(line.substr(0, 200)));
  }
  Reader reader("a trial");
  TrialSpec trial;
  if (reader.object(value, "",
                    {"command", "pattern", "path", "assignment", "bytes", "work", "iterations", "window_ms", "compute_ratio"})) {
    choice(reader, value, "pattern", kPatterns, trial.pattern);
    choice(reader, value, "path", kPaths, trial.path);
    choice(reader, value, "assignment", kAssignments, trial.assignment);
    choice(reader, value, "work", kWork, trial.work);
    reader.number(value, "", "bytes", trial.bytes, 1, static_cast<double>(kMostBytes));
    reader.number(value, "", "iterations", trial.iterations, 0, kMostIterations);
    reader.number(value, "", "window_ms", trial.window_ms, 0, 60'000);
    reader.number(value, "", "compute_ratio", trial.compute_ratio, 0.01, 100);
  }
  reader.finish();
  return trial;
}

}  // namespace dpubench::offload
