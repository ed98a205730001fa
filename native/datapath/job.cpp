#include "datapath/job.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "protocol/reader.hpp"

namespace dpubench::datapath {
namespace {

using nlohmann::json;
using protocol::Reader;

constexpr std::size_t kMaxBytes = 1U << 20;
constexpr std::size_t kMaxPorts = 8;
constexpr double kMaxSeed = 9007199254740991.0;
constexpr std::uint32_t kMaxFlows = 16'000'000;
constexpr std::uint32_t kMaxSizes = 64;
constexpr std::uint32_t kMaxTrial = 65535;
constexpr double kMaxTrialSeconds = 86'400;
constexpr double kMaxRatePps = 1e9;
constexpr double kMaxThread = 4'194'304;  // the kernel's PID_MAX_LIMIT

/// Read a text that must be one of `words`. A key that is missing leaves `into` as it is.
void choice(Reader& reader, const json& parent, const std::string& where, const char* key, std::string& into,
            const std::set<std::string>& words) {
  std::string word = into;
  reader.text(parent, where, key, word, false);
  if (!words.contains(word)) {
    std::string all;
    for (const std::string& known : words) all += (all.empty() ? "" : ", ") + known;
    reader.fault(where + "/" + key, "must be one of " + all + ", not '" + word + "'");
  } else {
    into = word;
  }
}

/// Return the object `key` of `parent`, or null when it is missing or faulty.
const json* object(Reader& reader, const json& parent, const std::string& where, const char* key,
                   const std::set<std::string_view>& known) {
  const auto it = parent.find(key);
  if (it == parent.end()) return nullptr;
  return reader.object(*it, where + "/" + key, known) ? &*it : nullptr;
}

void texts(Reader& reader, const json& parent, const std::string& where, const char* key,
           std::map<std::string, std::string, std::less<>>& into) {
  const auto it = parent.find(key);
  if (it == parent.end()) return;
  if (!it->is_object()) return reader.fault(where + "/" + key, "must be an object");
  for (const auto& [name, text] : it->items()) {
    if (text.is_string()) {
      into[name] = text.get<std::string>();
    } else {
      reader.fault(where + "/" + key + "/" + name, "must be a text");
    }
  }
}

void read_memory(Reader& reader, const json& value, const std::string& where, MemorySpec& memory) {
  const json* const found = object(reader, value, where, "memory", {"huge_pages", "mb"});
  if (found == nullptr) return;
  reader.boolean(*found, where + "/memory", "huge_pages", memory.huge_pages);
  reader.number(*found, where + "/memory", "mb", memory.mb, 64, 1U << 20);
}

PortSpec read_port(Reader& reader, const json& value, const std::string& where) {
  PortSpec port;
  if (!reader.object(value, where, {"kind", "role", "arguments"})) return port;
  reader.text(value, where, "kind", port.kind);
  std::string role = "server";
  choice(reader, value, where, "role", role, {"server", "client"});
  port.role = role == "server" ? Role::kServer : Role::kClient;
  texts(reader, value, where, "arguments", port.arguments);
  return port;
}

void read_workload(Reader& reader, const json& value, const std::string& where, WorkloadSpec& workload) {
  const json* const found = object(reader, value, where, "workload", {"name", "params", "engines"});
  if (found == nullptr) return;
  reader.text(*found, where + "/workload", "name", workload.name);
  reader.params(*found, where + "/workload", "params", workload.params);
  texts(reader, *found, where + "/workload", "engines", workload.engines);
}

void read_sizes(Reader& reader, const json& value, TrafficSpec& traffic) {
  const auto it = value.find("frame_sizes");
  if (it == value.end()) return;
  const std::string where = "/traffic/frame_sizes";
  if (*it == "imix") {
    // RFC 6985, section 1: 7:4:1 of 64, 594 and 1518 byte frames.
    traffic.frame_sizes = {{64, 7}, {594, 4}, {1518, 1}};
    return;
  }
  if (!it->is_array() || it->empty() || it->size() > kMaxSizes) {
    return reader.fault(where, "must be \"imix\" or an array of [bytes, weight], at most " + std::to_string(kMaxSizes));
  }
  for (const json& share : *it) {
    if (!share.is_array() || share.size() != 2 || !share[0].is_number_integer() || !share[1].is_number() ||
        share[0].get<double>() < kMinFrame || share[0].get<double>() > kMaxFrame || !(share[1].get<double>() > 0)) {
      return reader.fault(where, "must hold [bytes with FCS from " + std::to_string(kMinFrame) + " to " +
                                     std::to_string(kMaxFrame) + ", weight above 0] only");
    }
    traffic.frame_sizes.emplace_back(share[0].get<std::uint32_t>(), share[1].get<double>());
  }
}

void read_traffic(Reader& reader, const json& value, TrafficSpec& traffic) {
  const std::string where = "/traffic";
  const json* const found = object(reader, value, "", "traffic",
                                   {"source", "as", "flows", "popularity", "zipf_exponent", "churn_per_s", "protocol", "version",
                                    "frame_sizes", "payload", "segments", "retransmit_share", "overlap_share"});
  if (found == nullptr) return;
  choice(reader, *found, where, "source", traffic.source, {"model", "capture"});
  choice(reader, *found, where, "as", traffic.as, {"rate", "recorded"});
  reader.number(*found, where, "flows", traffic.flows, 1, kMaxFlows);
  choice(reader, *found, where, "popularity", traffic.popularity, {"zipf", "uniform"});
  reader.number(*found, where, "zipf_exponent", traffic.zipf_exponent, 0, 10);
  reader.number(*found, where, "churn_per_s", traffic.churn_per_s, 0, 1e8);
  choice(reader, *found, where, "protocol", traffic.protocol, {"udp", "tcp"});
  reader.number(*found, where, "version", traffic.version, 4, 6);
  if (traffic.version == 5) reader.fault(where + "/version", "must be 4 or 6");
  read_sizes(reader, *found, traffic);
  reader.number(*found, where, "segments", traffic.segments, 1, 64);
  reader.number(*found, where, "retransmit_share", traffic.retransmit_share, 0, 0.5);
  reader.number(*found, where, "overlap_share", traffic.overlap_share, 0, 0.5);
  if (const json* const payload = object(reader, *found, where, "payload", {"source", "signature_share"})) {
    choice(reader, *payload, where + "/payload", "source", traffic.payload.source, {"random", "capture", "corpus"});
    reader.number(*payload, where + "/payload", "signature_share", traffic.payload.signature_share, 0, 1);
  }
}

void read_schema(Reader& reader, const json& value, std::string_view known) {
  std::string schema;
  reader.text(value, "", "schema", schema);
  if (!schema.empty() && schema != known) reader.fault("/schema", "this program reads " + std::string(known));
}

ServerJob read_server_job(Reader& reader, const json& value) {
  ServerJob job;
  if (!reader.object(value, "",
                     {"schema", "seed", "time_limit_s", "memory", "ports", "cpus", "burst", "sample_every", "max_frame",
                      "workload", "stages", "inputs", "cache_dir"})) {
    return job;
  }
  read_schema(reader, value, kServerJobSchema);
  reader.number(value, "", "seed", job.seed, 0, kMaxSeed);
  reader.number(value, "", "time_limit_s", job.time_limit_s, 0.1, 864'000);
  read_memory(reader, value, "", job.memory);
  if (const json* const ports = reader.array(value, "", "ports", true)) {
    if (ports->empty() || ports->size() > kMaxPorts)
      reader.fault("/ports", "must hold 1 to " + std::to_string(kMaxPorts) + " ports");
    for (std::size_t i = 0; i < std::min(ports->size(), kMaxPorts); ++i) {
      job.ports.push_back(read_port(reader, (*ports)[i], "/ports/" + std::to_string(i)));
    }
  }
  reader.cpus(value, "cpus", job.cpus);
  reader.number(value, "", "burst", job.burst, 1, kMaxPacketBurst);
  reader.number(value, "", "sample_every", job.sample_every, 1, 1e6);
  reader.number(value, "", "max_frame", job.max_frame, kMinFrame, kMaxFrame);
  read_workload(reader, value, "", job.workload);
  if (const json* const stages = reader.array(value, "", "stages", false)) {
    for (const json& stage : *stages) {
      if (stage.is_string()) {
        job.stages.push_back(stage.get<std::string>());
      } else {
        reader.fault("/stages", "must hold names only");
      }
    }
  }
  reader.inputs(value, job.inputs);
  std::string cache_dir;
  reader.text(value, "", "cache_dir", cache_dir, false);
  job.cache_dir = cache_dir;
  return job;
}

Schedule read_schedule(Reader& reader, const json& value) {
  static const std::map<std::string, Schedule> kWords = {{"constant", Schedule::kConstant}, {"poisson", Schedule::kPoisson},
                                                         {"burst", Schedule::kBurst},       {"interval", Schedule::kInterval},
                                                         {"recorded", Schedule::kRecorded}, {"flood", Schedule::kFlood}};
  std::set<std::string> words;
  for (const auto& [word, unused] : kWords) words.insert(word);
  std::string word = "constant";
  choice(reader, value, "/trial", "schedule", word, words);
  return kWords.at(word);
}

TrialSpec read_trial(const json& value) {
  Reader reader("a trial");
  TrialSpec trial;
  if (reader.object(value, "/trial", {"number", "rate_pps", "schedule", "burst_packets", "ramp_s", "duration_s", "drain_s"})) {
    reader.number(value, "/trial", "number", trial.number, 0, kMaxTrial);
    reader.number(value, "/trial", "rate_pps", trial.rate_pps, 0, kMaxRatePps);
    trial.schedule = read_schedule(reader, value);
    reader.number(value, "/trial", "burst_packets", trial.burst_packets, 1, 65536);
    reader.number(value, "/trial", "ramp_s", trial.ramp_s, 0, kMaxTrialSeconds);
    reader.number(value, "/trial", "duration_s", trial.duration_s, 0.001, kMaxTrialSeconds);
    reader.number(value, "/trial", "drain_s", trial.drain_s, 0, 60);
    const bool has_rate = trial.schedule != Schedule::kRecorded && trial.schedule != Schedule::kFlood;
    if (has_rate && !(trial.rate_pps > 0)) reader.fault("/trial/rate_pps", "must be above 0 with this schedule");
  }
  reader.finish();
  return trial;
}

/// Read the command `begin`: a trial's number, alone or with the way the trial begins.
BeginCommand read_begin(const json& value) {
  Reader reader("a begin");
  BeginCommand begin;
  if (reader.object(value, "", {"begin", "ramp_s", "duration_s", "keep_flows", "receive_work"})) {
    reader.number(value, "", "begin", begin.trial, 0, kMaxTrial);
    reader.number(value, "", "ramp_s", begin.how.ramp_s, 0, kMaxTrialSeconds);
    reader.number(value, "", "duration_s", begin.how.duration_s, 0, kMaxTrialSeconds);
    reader.boolean(value, "", "keep_flows", begin.how.keeps_flows);
    if (const json* threads = reader.array(value, "", "receive_work", false); threads != nullptr) {
      for (const json& thread : *threads) {
        if (thread.is_number_unsigned() && thread.get<double>() >= 1 && thread.get<double>() <= kMaxThread) {
          begin.how.receive_work.push_back(thread.get<std::uint32_t>());
        } else {
          reader.fault("/receive_work", "must hold numbers of threads");
        }
      }
    }
  }
  reader.finish();
  return begin;
}

}  // namespace

ServerJob parse_server_job(std::string_view text) {
  const json value = protocol::parse_json(text, "the job", kMaxBytes);
  Reader reader(kServerJobSchema);
  ServerJob job = read_server_job(reader, value);
  reader.finish();
  return job;
}

TrafficJob parse_traffic_job(std::string_view text) {
  const json value = protocol::parse_json(text, "the job", kMaxBytes);
  Reader reader(kTrafficJobSchema);
  TrafficJob job;
  if (reader.object(value, "",
                    {"schema", "seed", "time_limit_s", "memory", "port", "cpu", "burst", "verify", "receive", "max_frame",
                     "traffic", "workload", "inputs", "cache_dir", "server"})) {
    read_schema(reader, value, kTrafficJobSchema);
    reader.number(value, "", "seed", job.seed, 0, kMaxSeed);
    reader.number(value, "", "time_limit_s", job.time_limit_s, 0.1, 864'000);
    read_memory(reader, value, "", job.memory);
    if (const auto port = value.find("port"); port != value.end()) {
      job.port = read_port(reader, *port, "/port");
    } else {
      reader.fault("/port", "is missing");
    }
    reader.number(value, "", "cpu", job.cpu, 0, 1023);
    reader.number(value, "", "burst", job.burst, 1, kMaxPacketBurst);
    std::string verify = "all";
    choice(reader, value, "", "verify", verify, {"all", "sampled"});
    job.verify_all = verify == "all";
    reader.boolean(value, "", "receive", job.receive);
    reader.number(value, "", "max_frame", job.max_frame, kMinFrame, kMaxFrame);
    read_traffic(reader, value, job.traffic);
    if (job.traffic.frame_sizes.empty()) job.traffic.frame_sizes = {{kMinFrame, 1.0}};
    read_workload(reader, value, "", job.workload);
    reader.inputs(value, job.inputs);
    std::string cache_dir;
    reader.text(value, "", "cache_dir", cache_dir, false);
    job.cache_dir = cache_dir;
    if (const auto server = value.find("server"); server != value.end()) {
      Reader inner(kServerJobSchema);
      job.server = read_server_job(inner, *server);
      inner.finish();
    }
  }
  reader.finish();
  return job;
}

Command parse_command(std::string_view line) {
  const json value = protocol::parse_json(line, "the command", kMaxBytes);
  const auto number = [](const json& n) { return n.is_number_unsigned() && n.get<double>() <= kMaxTrial; };
  if (value.is_object() && value.contains("begin") && number(value["begin"])) return read_begin(value);
  if (value.is_object() && !value.empty() && value.size() <= 2) {
    if (const auto end = value.find("end"); end != value.end() && *end == true && value.size() == 1) return EndCommand{};
    if (const auto fill = value.find("fill"); fill != value.end() && number(*fill) && value.size() == 1) {
      return FillCommand{fill->get<std::uint32_t>()};
    }
    if (const auto trial = value.find("trial"); trial != value.end() && value.size() == 1) return read_trial(*trial);
    if (const auto collect = value.find("collect"); collect != value.end() && number(*collect)) {
      const auto dump = value.find("dump");
      if (value.size() == 1) return CollectCommand{collect->get<std::uint32_t>(), {}};
      if (dump != value.end() && dump->is_string())
        return CollectCommand{collect->get<std::uint32_t>(), dump->get<std::string>()};
    }
    if (const auto check = value.find("check"); check != value.end() && number(*check)) {
      if (const auto dump = value.find("dump"); dump != value.end() && dump->is_string()) {
        return CheckCommand{check->get<std::uint32_t>(), dump->get<std::string>()};
      }
    }
  }
  throw Error(
      "a command is {\"begin\": N, ...}, {\"fill\": N}, {\"trial\": {...}}, {\"collect\": N, \"dump\": FOLDER}, {\"check\": N, "
      "\"dump\": FOLDER} or "
      "{\"end\": true}, not " +
      std::string(line.substr(0, 200)));
}

}  // namespace dpubench::datapath
