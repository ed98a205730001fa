#include "applications/job.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "inputs/digest.hpp"
#include "measure/region.hpp"
#include "protocol/reader.hpp"

namespace dpubench::applications {

using nlohmann::json;

namespace {

constexpr std::size_t kMostJobBytes = 1U << 20;
constexpr double kMostBytes = 1e15;

void read_inputs(protocol::Reader& reader, const json& whole, Task& into) {
  const auto given = whole.find("inputs");
  if (given == whole.end()) return reader.fault("/inputs", "is missing");
  if (!given->is_object()) return reader.fault("/inputs", "must be an object of arrays of paths, by kind");
  for (const auto& [kind, paths] : given->items()) {
    const std::string where = "/inputs/" + kind;
    if (!paths.is_array() || paths.empty()) {
      reader.fault(where, "must be an array of at least one path");
      continue;
    }
    for (const json& path : paths) {
      if (path.is_string() && !path.get_ref<const std::string&>().empty()) {
        into.inputs[kind].emplace_back(path.get<std::string>());
      } else {
        reader.fault(where, "must hold paths only");
      }
    }
  }
}

/// Check that the task has every required input and no unknown one. @throws Error
void check_inputs(const ApplicationInfo& info, const Task& task) {
  std::set<std::string_view> known;
  std::string names;
  for (const ApplicationInput& input : info.inputs) {
    if (!input.only_with.holds(task.params)) continue;
    known.insert(input.name);
    names += (names.empty() ? "" : ", ") + input.name;
    if (!input.optional) (void)task.files(input.name);
  }
  for (const auto& [kind, unused] : task.inputs) {
    if (!known.contains(kind))
      throw Error("inputs/" + kind + ": there is no such input of " + info.name + " with " + task.params.str() +
                  "; it reads: " + names);
  }
}

}  // namespace

ApplicationJob parse_application_job(std::string_view text) {
  const json whole = protocol::parse_json(text, "the job", kMostJobBytes);
  protocol::Reader reader(kJobSchema);
  if (!reader.object(whole, "", {"schema", "application", "params", "inputs", "limit_bytes", "time_limit_s"})) reader.finish();
  ApplicationJob job;
  std::string schema;
  reader.text(whole, "", "schema", schema);
  if (!schema.empty() && schema != kJobSchema)
    reader.fault("/schema", "is '" + schema + "', but this program reads " + std::string(kJobSchema));
  reader.text(whole, "", "application", job.application);
  reader.params(whole, "", "params", job.task.params);
  read_inputs(reader, whole, job.task);
  reader.number(whole, "", "limit_bytes", job.task.limit_bytes, 0, kMostBytes);
  reader.number(whole, "", "time_limit_s", job.time_limit_s, 0.1, 864000);
  reader.finish();
  return job;
}

json check_applications(const ApplicationCatalog& catalog, std::string_view question) {
  json checked = json::array();
  try {
    for (const json& one : protocol::parse_json(question, "the question", kMostJobBytes)) {
      const auto name = one.at("application").get<std::string>();
      Params given;
      for (const auto& [key, value] : one.at("params").items()) given.set(key, value.get<std::string>());
      std::string invalid;
      try {
        (void)complete(name, catalog.find(name).info().parameters, given);
      } catch (const Error& error) {
        invalid = error.what();
      }
      checked.push_back({{"invalid", invalid}, {"engines", json::object()}});
    }
  } catch (const json::exception& error) {
    throw Error(std::string("the question: ") + error.what());
  }
  return {{"event", "checked"}, {"combinations", checked}};
}

json run_application(const ApplicationJob& job, const ApplicationCatalog& catalog, Phase& phase) {
  const ApplicationModule& module = catalog.find(job.application);
  const ApplicationInfo& info = module.info();
  Task task = job.task;
  task.params = complete(info.name, info.parameters, job.task.params);
  check_inputs(info, task);
  const std::unique_ptr<Application> application = module.make();
  phase.name = "inputs";
  application->load(task);
  measure::open_region();
  application->run(task);
  measure::close_region();
  phase.name = "verify";
  if (application->records == 0)
    throw Error(info.name + ": its input holds no record: give another input, or a larger limit_bytes");
  application->verify(task);
  return {{"event", "traced"},
          {"group", info.name},
          {"application", info.name},
          {"input_bytes", application->input_bytes},
          {"records", application->records},
          {"output_bytes", application->output.size()},
          {"output_digest", inputs::Sha256::hex(inputs::Sha256::of(application->output))},
          {"facts", application->facts},
          {"verified", true}};
}

}  // namespace dpubench::applications
