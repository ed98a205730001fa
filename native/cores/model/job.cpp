#include "cores/model/job.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "cores/model/context.hpp"
#include "cores/model/fields.hpp"

namespace dpubench::cores {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxJobBytes = 64U << 20;
constexpr double kMost = 1e15;
constexpr double kMostSpaces = 255;
constexpr double kMostAddress = 281474976710655.0;  // 48 bits

void read_extent(protocol::Reader& reader, const Fields& configuration, Extent& into) {
  if (!configuration.has("extent")) return;
  const Fields fields(reader, configuration.json()["extent"], configuration.at("extent"));
  if (!reader.object(fields.json(), fields.where(),
                     {"warm_up_messages", "instructions", "messages", "every", "measured", "repeat", "phase_instructions"}))
    return;
  fields.maybe_number("warm_up_messages", into.warm_up_messages, 0, kMost);
  fields.maybe_number("instructions", into.instructions, 0, kMost);
  fields.maybe_number("messages", into.messages, 0, kMost);
  fields.maybe_number("every", into.every, 1, kMost);
  fields.maybe_number("measured", into.measured, 1, kMost);
  fields.maybe_boolean("repeat", into.repeat);
  fields.maybe_number("phase_instructions", into.phase_instructions, 0, kMost);
  if (into.phase_instructions != 0 && into.phase_instructions < PhaseLog::kLeastInstructions) {
    fields.fault("phase_instructions", "is " + std::to_string(into.phase_instructions) + ", but a phase has at least " +
                                           std::to_string(PhaseLog::kLeastInstructions) + " instructions");
  }
  if (fields.sound("instructions", "phase_instructions") && into.phase_instructions != 0 &&
      into.instructions / into.phase_instructions > PhaseLog::kMostPhases) {
    fields.fault("instructions", "make " + std::to_string(into.instructions / into.phase_instructions) + " phases, but at most " +
                                     std::to_string(PhaseLog::kMostPhases) + " are kept apart: give fewer or larger phases");
  }
  if (fields.sound("every", "measured") && into.measured > into.every)
    fields.fault("measured", "is more than `every`: of " + std::to_string(into.every) + " messages, " +
                                 std::to_string(into.measured) + " cannot be measured");
}

void read_contexts(protocol::Reader& reader, const Fields& configuration, JobConfiguration& into) {
  const json* const contexts = reader.array(configuration.json(), configuration.where(), "contexts", true);
  if (contexts == nullptr) return;
  // Contexts of the same trace are threads of one program, unless the job says otherwise.
  std::map<std::filesystem::path, std::uint64_t> spaces;
  for (std::size_t i = 0; i < contexts->size(); ++i) {
    const Fields fields(reader, (*contexts)[i], configuration.at("contexts") + "/" + std::to_string(i));
    if (!reader.object(fields.json(), fields.where(), {"trace", "skip_messages", "code_space", "data_space"})) continue;
    JobContext context;
    std::string trace;
    fields.text("trace", trace);
    context.trace = trace;
    context.code_space = context.data_space = spaces.try_emplace(context.trace, spaces.size()).first->second;
    fields.maybe_number("skip_messages", context.skip_messages, 0, kMost);
    fields.maybe_number("code_space", context.code_space, 0, kMostSpaces);
    fields.maybe_number("data_space", context.data_space, 0, kMostSpaces);
    into.contexts.push_back(context);
  }
  const Organisation& organisation = into.processor.organisation;
  const std::size_t needed = std::size_t{organisation.cores} * organisation.contexts;
  if (contexts->size() != needed) {
    configuration.fault("contexts", "the processor '" + into.processor.name + "' has " + std::to_string(needed) + " contexts (" +
                                        std::to_string(organisation.cores) + " cores of " +
                                        std::to_string(organisation.contexts) + "), but there are " +
                                        std::to_string(contexts->size()) + " traces: give one trace per context");
  }
}

void read_buffers(protocol::Reader& reader, const Fields& configuration, JobConfiguration& into) {
  const json* const buffers = reader.array(configuration.json(), configuration.where(), "frame_buffers", false);
  if (buffers == nullptr) return;
  if (!into.processor.dma) configuration.fault("frame_buffers", "the processor '" + into.processor.name + "' has no DMA agent");
  for (std::size_t i = 0; i < buffers->size(); ++i) {
    const Fields fields(reader, (*buffers)[i], configuration.at("frame_buffers") + "/" + std::to_string(i));
    if (!reader.object(fields.json(), fields.where(), {"address", "stride_bytes", "count", "data_space"})) continue;
    FrameBuffers ring;
    std::uint64_t space = 0;
    fields.number("address", ring.address, 0, kMostAddress);
    fields.number("stride_bytes", ring.stride_bytes, 1, kMostAddress);
    fields.number("count", ring.count, 1, 1U << 24);
    fields.maybe_number("data_space", space, 0, kMostSpaces);
    ring.address = place(space, ring.address);
    into.buffers.push_back(ring);
  }
}

/// Check that phases can be told apart. They need the misses of their own context, but a data cache counts for all its contexts.
void check_phases(const Fields& configuration, const JobConfiguration& into) {
  if (into.extent.phase_instructions == 0 || !configuration.sound("extent")) return;
  const Description& processor = into.processor;
  const bool shares_cache = processor.organisation.cores > 1 && processor.caches[processor.data_cache].shared_by > 1;
  if (processor.organisation.contexts == 1 && !shares_cache) return;
  configuration.fault("extent", "has phase_instructions, but contexts of the processor '" + processor.name +
                                    "' share a data cache, and it cannot tell their misses apart: give each context a core");
}

void read_configuration(protocol::Reader& reader, const Fields& fields, JobConfiguration& into) {
  if (!reader.object(fields.json(), fields.where(), {"id", "processor", "contexts", "extent", "frame_buffers"})) return;
  fields.text("id", into.id);
  if (!fields.has("processor")) return fields.fault("processor", "is missing");
  into.processor = parse_description(fields.json()["processor"], fields.at("processor"));
  read_extent(reader, fields, into.extent);
  read_contexts(reader, fields, into);
  check_phases(fields, into);
  read_buffers(reader, fields, into);
}

/// Return the faults of a configuration that has no traces.
std::vector<protocol::Fault> faults_of(const json& configuration) {
  std::vector<protocol::Fault> faults;
  const auto gather = [&](const auto& read) {
    try {
      read();
    } catch (const protocol::Refused& refused) {
      faults.insert(faults.end(), refused.faults().begin(), refused.faults().end());
    }
  };
  gather([&] {
    protocol::Reader reader("configuration");
    const Fields fields(reader, configuration, "");
    if (!reader.object(configuration, "", {"processor", "extent"})) reader.finish();
    JobConfiguration read;
    read_extent(reader, fields, read.extent);
    if (fields.has("processor")) {
      gather([&] {
        read.processor = parse_description(configuration["processor"], fields.at("processor"));
        check_phases(fields, read);
      });
    } else {
      fields.fault("processor", "is missing");
    }
    reader.finish();
  });
  return faults;
}

}  // namespace

json check_configurations(std::string_view text) {
  const json whole = protocol::parse_json(text, "the list of configurations", kMaxJobBytes);
  if (!whole.is_array()) throw Error("the list of configurations must be an array of objects with processor and extent");
  json checked = json::array();
  for (const json& configuration : whole) {
    json faults = json::array();
    for (const protocol::Fault& fault : faults_of(configuration)) faults.push_back({{"at", fault.where}, {"what", fault.what}});
    checked.push_back({{"faults", std::move(faults)}});
  }
  return {{"event", "checked"}, {"configurations", std::move(checked)}};
}

CoresJob parse_cores_job(std::string_view text) {
  const json whole = protocol::parse_json(text, "the job", kMaxJobBytes);
  protocol::Reader reader(kJobSchema);
  if (!reader.object(whole, "", {"schema", "time_limit_s", "configurations"})) reader.finish();
  CoresJob job;
  const Fields fields(reader, whole, "");
  std::string schema;
  fields.text("schema", schema);
  if (!schema.empty() && schema != kJobSchema)
    fields.fault("schema", "is '" + schema + "', but this program reads " + std::string(kJobSchema));
  fields.maybe_number("time_limit_s", job.time_limit_s, 0.001, 1e7);
  const json* const configurations = reader.array(whole, "", "configurations", true);
  std::set<std::string> ids;
  for (std::size_t i = 0; configurations != nullptr && i < configurations->size(); ++i) {
    const Fields one(reader, (*configurations)[i], "/configurations/" + std::to_string(i));
    read_configuration(reader, one, job.configurations.emplace_back());
    const std::string& id = job.configurations.back().id;
    if (!id.empty() && !ids.insert(id).second) one.fault("id", "another configuration is called '" + id + "'");
  }
  if (configurations != nullptr && configurations->empty()) fields.fault("configurations", "has no configuration");
  reader.finish();
  return job;
}

}  // namespace dpubench::cores
