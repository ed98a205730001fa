#include "link/job.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "protocol/reader.hpp"

namespace dpubench::link {

using nlohmann::json;

namespace {

constexpr std::size_t kMostJobBytes = 1U << 16;
constexpr double kMostMessageBytes = 1U << 20;
constexpr double kMostFileBytes = 4294967296.0;
constexpr double kMostPort = 65535;
constexpr double kMostCpu = 1U << 16;
constexpr double kMostSeed = 9007199254740991.0;  // 2^53 - 1: exact in every JSON library
constexpr double kLongest_s = 86400;

/// Read one of several words. @returns its index; 0 where there is a fault
std::size_t read_word(protocol::Reader& reader, const json& whole, const char* key, const std::vector<std::string_view>& words) {
  std::string word;
  reader.text(whole, "", key, word);
  if (word.empty()) return 0;
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  std::string known;
  for (const std::string_view one : words) known += (known.empty() ? "" : ", ") + std::string(one);
  reader.fault(std::string("/") + key, "must be one of: " + known);
  return 0;
}

void require(protocol::Reader& reader, const json& whole, const char* key) {
  if (!whole.contains(key)) reader.fault(std::string("/") + key, "is missing");
}

void refuse(protocol::Reader& reader, const json& whole, const char* key, const char* test) {
  if (whole.contains(key)) reader.fault(std::string("/") + key, std::string("belongs to test ") + test + " only");
}

void read_test(protocol::Reader& reader, const json& whole, LinkJob& job) {
  job.test = static_cast<Test>(read_word(reader, whole, "test", {"latency", "transfer"}));
  if (!reader.sound("/test")) return;
  if (job.test == Test::kLatency) {
    require(reader, whole, "message_bytes");
    reader.number(whole, "", "message_bytes", job.message_bytes, 1, kMostMessageBytes);
    for (const char* key : {"file_bytes", "protection"}) refuse(reader, whole, key, "transfer");
    return;
  }
  require(reader, whole, "file_bytes");
  reader.number(whole, "", "file_bytes", job.file_bytes, 1, kMostFileBytes);
  std::array<std::string_view, kProtections.size()> names;
  std::transform(kProtections.begin(), kProtections.end(), names.begin(), name);
  job.protection = static_cast<Protection>(read_word(reader, whole, "protection", {names.begin(), names.end()}));
  refuse(reader, whole, "message_bytes", "latency");
}

}  // namespace

LinkJob parse_link_job(std::string_view text) {
  const json whole = protocol::parse_json(text, "the job", kMostJobBytes);
  protocol::Reader reader(kJobSchema);
  LinkJob job;
  std::string schema;
  if (!reader.object(whole, "",
                     {"schema", "role", "address", "port", "test", "message_bytes", "file_bytes", "protection", "duration_s",
                      "seed", "cpu", "time_limit_s"}))
    reader.finish();
  reader.text(whole, "", "schema", schema);
  if (reader.sound("/schema") && schema != kJobSchema) reader.fault("/schema", "must be " + std::string(kJobSchema));
  job.role = static_cast<Role>(read_word(reader, whole, "role", {"server", "client"}));
  reader.text(whole, "", "address", job.address);
  if (job.address.find('\0') != std::string::npos) reader.fault("/address", "must not hold a zero byte");
  reader.number(whole, "", "port", job.port, 0, kMostPort);
  if (reader.sound("/role") && reader.sound("/port") && job.role == Role::kClient && job.port == 0)
    reader.fault("/port", "must be the server's, which its event 'listening' tells");
  read_test(reader, whole, job);
  reader.number(whole, "", "duration_s", job.duration_s, 0.001, kLongest_s);
  reader.number(whole, "", "seed", job.seed, 0, kMostSeed);
  int cpu = -1;
  reader.number(whole, "", "cpu", cpu, 0, kMostCpu);
  if (cpu >= 0) job.cpu = cpu;
  reader.number(whole, "", "time_limit_s", job.time_limit_s, 0.1, kLongest_s);
  reader.finish();
  return job;
}

std::string agreement(const LinkJob& job) {
  const std::string seed = " seed=" + std::to_string(job.seed);
  if (job.test == Test::kLatency) return "test=latency message_bytes=" + std::to_string(job.message_bytes) + seed;
  return "test=transfer file_bytes=" + std::to_string(job.file_bytes) + " protection=" + std::string(name(job.protection)) + seed;
}

}  // namespace dpubench::link
