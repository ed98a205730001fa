#include "tools/job.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "protocol/reader.hpp"
#include "tools/known.hpp"

namespace dpubench::tools {

using nlohmann::json;

namespace {

constexpr std::size_t kMostJobBytes = 1U << 20;
constexpr std::size_t kMostWords = 1000;
constexpr double kLongest_s = 86400;

void read_texts(protocol::Reader& reader, const json& whole, const char* key, std::vector<std::string>& into) {
  const json* given = reader.array(whole, "", key, false);
  if (given == nullptr) return;
  if (given->size() > kMostWords)
    reader.fault(std::string("/") + key, "must have at most " + std::to_string(kMostWords) + " texts");
  for (const json& text : *given) {
    if (text.is_string() && text.get_ref<const std::string&>().find('\0') == std::string::npos) {
      into.push_back(text.get<std::string>());
    } else {
      reader.fault(std::string("/") + key, "must hold texts without zero bytes only");
    }
  }
}

/// Return whether `name` is a file directly in a folder, whatever the folder is.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

}  // namespace

ToolJob parse_tool_job(std::string_view text) {
  const json whole = protocol::parse_json(text, "the job", kMostJobBytes);
  protocol::Reader reader(kJobSchema);
  ToolJob job;
  std::string schema;
  if (reader.object(whole, "", {"schema", "tool", "arguments", "time_limit_s", "ready", "collect", "unprivileged"})) {
    reader.text(whole, "", "schema", schema);
    if (reader.sound("/schema") && schema != kJobSchema) reader.fault("/schema", "must be " + std::string(kJobSchema));
    reader.text(whole, "", "tool", job.tool);
    read_texts(reader, whole, "arguments", job.arguments);
    reader.number(whole, "", "time_limit_s", job.time_limit_s, 0.1, kLongest_s);
    reader.text(whole, "", "ready", job.ready, false);
    read_texts(reader, whole, "collect", job.collect);
    reader.boolean(whole, "", "unprivileged", job.unprivileged);
    if (!std::all_of(job.collect.begin(), job.collect.end(), is_plain_name))
      reader.fault("/collect", "must hold names of files without a folder, which do not begin with a point");
  }
  reader.finish();
  (void)find_tool(job.tool);
  return job;
}

Command parse_command(std::string_view text) {
  const json whole = protocol::parse_json(text, "the command", kMostJobBytes);
  if (whole == json{{"cpu", true}}) return Command::kCpu;
  if (whole == json{{"end", true}}) return Command::kEnd;
  throw Error(R"(unknown command: there are {"cpu": true} and {"end": true})");
}

}  // namespace dpubench::tools
