#include "headroom/job.hpp"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "protocol/reader.hpp"

namespace dpubench::headroom {
namespace {

using nlohmann::json;
using protocol::Reader;

constexpr std::size_t kMaxBytes = 1U << 20;
constexpr double kMaxSeed = 9007199254740991.0;
constexpr std::uint32_t kMaxTrial = 65535;
constexpr std::uint32_t kMaxReuse = 65'535;  // the count of references of a buffer has 16 bits
constexpr double kMaxTrialSeconds = 60;
constexpr double kMaxDelayNs = 1e9;

constexpr std::array<std::pair<std::string_view, Delay>, 7> kDelays{{{"none", Delay::kNone},
                                                                     {"spacing", Delay::kSpacing},
                                                                     {"schedule", Delay::kSchedule},
                                                                     {"spin", Delay::kSpin},
                                                                     {"cache", Delay::kCache},
                                                                     {"memory", Delay::kMemory},
                                                                     {"operator", Delay::kOperator}}};

/// Read a text that must be one of `words`. A key that is missing leaves `into` as it is.
void choice(Reader& reader, const json& parent, const std::string& where, const char* key, std::string& into,
            const std::set<std::string>& words) {
  std::string word = into;
  reader.text(parent, where, key, word, false);
  if (words.contains(word)) {
    into = word;
    return;
  }
  std::string all;
  for (const std::string& known : words) all += (all.empty() ? "" : ", ") + known;
  reader.fault(where + "/" + key, "must be one of " + all + ", not '" + word + "'");
}

void texts(Reader& reader, const json& parent, const std::string& where, std::map<std::string, std::string, std::less<>>& into) {
  const auto it = parent.find("arguments");
  if (it == parent.end()) return;
  if (!it->is_object()) return reader.fault(where + "/arguments", "must be an object");
  for (const auto& [name, text] : it->items()) {
    if (text.is_string()) {
      into[name] = text.get<std::string>();
    } else {
      reader.fault(where + "/arguments/" + name, "must be a text");
    }
  }
}

/// Read a way in or out. @param kinds those that fit the process's part
void read_backend(Reader& reader, const json& value, const std::string& parent, const char* key,
                  const std::set<std::string>& kinds, BackendSpec& backend) {
  const std::string where = parent + "/" + key;
  const auto it = value.find(key);
  if (it == value.end()) return reader.fault(where, "is missing");
  if (!reader.object(*it, where, {"kind", "port", "role", "arguments"})) return;
  choice(reader, *it, where, "kind", backend.kind, kinds);
  texts(reader, *it, where, backend.arguments);
  if (backend.kind != "port") return;
  reader.text(*it, where, "port", backend.port.kind);
  std::string role = "client";
  choice(reader, *it, where, "role", role, {"server", "client"});
  backend.port.role = role == "server" ? datapath::Role::kServer : datapath::Role::kClient;
  backend.port.arguments = backend.arguments;
}

void read_own_sink(Reader& reader, const json& value, HeadroomJob& job) {
  const auto it = value.find("own_sink");
  if (it == value.end() || !reader.object(*it, "/own_sink", {"backend", "network_namespace"})) return;
  if (job.part != Part::kSender) return reader.fault("/own_sink", "is for a sender");
  OwnSink found;
  read_backend(reader, *it, "/own_sink", "backend", {"port", "udp"}, found.backend);
  reader.text(*it, "/own_sink", "network_namespace", found.network_namespace, false);
  job.own_sink = std::move(found);
}

void read_operator(Reader& reader, const json& value, std::optional<OperatorJob>& into) {
  const auto it = value.find("operator");
  if (it == value.end() || !reader.object(*it, "/operator", {"name", "engine", "params"})) return;
  OperatorJob found;
  reader.text(*it, "/operator", "name", found.op);
  reader.text(*it, "/operator", "engine", found.engine);
  reader.params(*it, "/operator", "params", found.params);
  into = std::move(found);
}

void read_mac(Reader& reader, const json& value, std::string& into) {
  std::string text = into;
  reader.text(value, "", "destination_mac", text, false);
  std::array<unsigned, 6> byte{};
  int end = 0;
  const int got =
      std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%n", &byte[0], &byte[1], &byte[2], &byte[3], &byte[4], &byte[5], &end);
  if (got != 6 || static_cast<std::size_t>(end) != text.size() || text.size() != 17) {
    return reader.fault("/destination_mac", "must be a MAC address such as 02:00:00:00:00:02, not '" + text + "'");
  }
  into = text;
}

/// Read a trial. @param where "/trial" or "/forward"
TrialSpec read_trial(const json& value, const std::string& where) {
  Reader reader("a trial");
  TrialSpec trial;
  if (reader.object(value, where, {"number", "size", "threads", "burst", "reuse", "duration_s", "delay", "delay_ns", "verify"})) {
    reader.boolean(value, where, "verify", trial.verify);
    reader.number(value, where, "number", trial.number, 0, kMaxTrial);
    reader.number(value, where, "size", trial.size, kMinPacket, kMaxPacket);
    reader.number(value, where, "threads", trial.threads, 1, kMaxThreads);
    reader.number(value, where, "burst", trial.burst, 1, kMaxBurst);
    reader.number(value, where, "reuse", trial.reuse, 1, kMaxReuse);
    reader.number(value, where, "duration_s", trial.duration_s, 0.001, kMaxTrialSeconds);
    reader.number(value, where, "delay_ns", trial.delay_ns, 0, kMaxDelayNs);
    std::set<std::string> words;
    for (const auto& [word, unused] : kDelays) words.insert(std::string(word));
    std::string word = "none";
    choice(reader, value, where, "delay", word, words);
    for (const auto& [known, delay] : kDelays) {
      if (known == word) trial.delay = delay;
    }
  }
  reader.finish();
  return trial;
}

ForwardCommand read_forward(const json& value) {
  const TrialSpec spec = read_trial(value, "/forward");
  if (spec.delay == Delay::kSchedule)
    throw Error("/forward/delay: schedule is for senders: a forwarder takes packets as they come");
  return {spec};
}

BeginCommand read_begin(const json& value) {
  Reader reader("a begin");
  BeginCommand begin;
  if (reader.object(value, "", {"begin"})) reader.number(value, "", "begin", begin.trial, 0, kMaxTrial);
  reader.finish();
  return begin;
}

CollectCommand read_collect(const json& value) {
  Reader reader("a collect");
  CollectCommand collect;
  if (reader.object(value, "", {"collect", "expected"})) {
    reader.number(value, "", "collect", collect.trial, 0, kMaxTrial);
    reader.number(value, "", "expected", collect.expected, 0, 9e15);
  }
  reader.finish();
  return collect;
}

}  // namespace

HeadroomJob parse_job(std::string_view text) {
  const json value = protocol::parse_json(text, "the job", kMaxBytes);
  Reader reader(kJobSchema);
  HeadroomJob job;
  if (reader.object(value, "",
                    {"schema", "seed", "time_limit_s", "role", "memory", "backend", "out", "cpus", "own_sink", "threads",
                     "max_packet", "destination_mac", "operator", "inputs", "cache_dir"})) {
    std::string schema;
    reader.text(value, "", "schema", schema);
    if (!schema.empty() && schema != kJobSchema) reader.fault("/schema", "this program reads " + std::string(kJobSchema));
    reader.number(value, "", "seed", job.seed, 0, kMaxSeed);
    reader.number(value, "", "time_limit_s", job.time_limit_s, 0.1, 864'000);
    std::string role = "sender";
    choice(reader, value, "", "role", role, {"sender", "sink", "forwarder"});
    job.part = role == "sink" ? Part::kSink : role == "forwarder" ? Part::kForwarder : Part::kSender;
    if (const auto memory = value.find("memory"); memory != value.end()) {
      if (reader.object(*memory, "/memory", {"huge_pages", "mb"})) {
        reader.boolean(*memory, "/memory", "huge_pages", job.memory.huge_pages);
        reader.number(*memory, "/memory", "mb", job.memory.mb, 64, 1U << 20);
      }
    }
    if (job.part == Part::kForwarder) {
      const std::set<std::string> kinds = {"port", "kernel"};
      read_backend(reader, value, "", "backend", kinds, job.backend);
      read_backend(reader, value, "", "out", kinds, job.out);
      if (job.backend.kind != job.out.kind) reader.fault("/out/kind", "must be that of the way in, " + job.backend.kind);
    } else {
      read_backend(reader, value, "", "backend", {"port", "udp", "pktgen"}, job.backend);
      read_own_sink(reader, value, job);
      if (value.contains("out")) reader.fault("/out", "is for a forwarder");
    }
    reader.cpus(value, "cpus", job.cpus);
    reader.number(value, "", "threads", job.threads, 1, kMaxThreads);
    reader.number(value, "", "max_packet", job.max_packet, kMinPacket, kMaxPacket);
    read_mac(reader, value, job.destination_mac);
    read_operator(reader, value, job.operator_job);
    reader.inputs(value, job.inputs);
    std::string cache_dir;
    reader.text(value, "", "cache_dir", cache_dir, false);
    job.cache_dir = cache_dir;
    if (job.part == Part::kSink && job.backend.kind == "pktgen")
      reader.fault("/backend/kind", "pktgen only sends: give the sink port or udp");
  }
  reader.finish();
  return job;
}

Command parse_command(std::string_view line) {
  const json value = protocol::parse_json(line, "the command", kMaxBytes);
  if (value.is_object()) {
    if (const auto end = value.find("end"); end != value.end() && *end == true && value.size() == 1) return EndCommand{};
    if (const auto trial = value.find("trial"); trial != value.end() && value.size() == 1) return read_trial(*trial, "/trial");
    if (const auto forward = value.find("forward"); forward != value.end() && value.size() == 1) return read_forward(*forward);
    if (value.contains("begin")) return read_begin(value);
    if (value.contains("collect")) return read_collect(value);
  }
  throw Error(
      "a command is {\"trial\": {...}}, {\"begin\": N}, {\"forward\": {...}}, {\"collect\": N, \"expected\": PACKETS} or "
      "{\"end\": true}, not " +
      std::string(line.substr(0, 200)));
}

std::string_view word_of(Delay delay) {
  for (const auto& [word, known] : kDelays) {
    if (known == delay) return word;
  }
  return "none";
}

}  // namespace dpubench::headroom
