#include "cores/model/description.hpp"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "cores/model/description_memory.hpp"
#include "cores/model/fields.hpp"

namespace dpubench::cores {

using nlohmann::json;
using Keys = std::set<std::string_view>;

namespace {

constexpr double kMaxWidth = 64;
constexpr double kMaxEntries = 4096;
constexpr double kMaxCycles = 1000;

/// Return the section `key` of a description if it exists and is an object of known keys. Otherwise report a fault.
std::optional<Fields> section(protocol::Reader& reader, const Fields& whole, const char* key, const Keys& known) {
  if (!whole.has(key)) {
    whole.fault(key, "is missing");
    return std::nullopt;
  }
  const json& value = whole.json()[key];
  if (!reader.object(value, whole.at(key), known)) return std::nullopt;
  return Fields(reader, value, whole.at(key));
}

void read_policy(const Fields& whole, const Fields& fields, Organisation& into, const Widths& widths) {
  std::string policy;
  fields.text("policy", policy);
  const auto named = [&](std::string_view name, Policy value) {
    if (policy == name) into.policy = value;
    return policy == name;
  };
  if (policy.empty() || named("single", Policy::kSingle) || named("strict", Policy::kStrict) ||
      named("skip_not_ready", Policy::kSkipNotReady) || named("switch_on_stall", Policy::kSwitchOnStall)) {
    return;
  }
  // icount.2.8 means two contexts and eight instructions a cycle (Tullsen et al., ISCA 1996).
  const std::size_t dot = policy.find('.');
  const std::size_t second = dot == std::string::npos ? dot : policy.find('.', dot + 1);
  const std::string name = policy.substr(0, dot);
  const auto count = [](const std::string& digits) {
    const bool fits = !digits.empty() && digits.size() <= 2 &&
                      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    return fits ? static_cast<std::uint32_t>(std::stoul(digits)) : 0U;
  };
  const std::uint32_t contexts = second == std::string::npos ? 0 : count(policy.substr(dot + 1, second - dot - 1));
  const std::uint32_t width = second == std::string::npos ? 0 : count(policy.substr(second + 1));
  if ((name != "icount" && name != "rr") || contexts == 0 || width == 0) {
    return fields.fault(
        "policy", "is '" + policy +
                      "', and must be single, strict, skip_not_ready, switch_on_stall, icount.N.M or rr.N.M (N contexts fetch "
                      "M instructions a cycle, as in icount.2.8)");
  }
  into.policy = name == "icount" ? Policy::kIcount : Policy::kRoundRobin;
  into.fetch_contexts = contexts;
  if (whole.sound("widths/fetch") && widths.fetch != width) {
    fields.fault("policy", "fetches " + std::to_string(width) + " instructions a cycle, but widths/fetch says " +
                               std::to_string(widths.fetch));
  }
}

void read_organisation(protocol::Reader& reader, const Fields& whole, Description& into) {
  const auto fields = section(reader, whole, "organisation", {"cores", "contexts", "issue", "policy", "switch_cycles", "window"});
  if (!fields) return;
  Organisation& organisation = into.organisation;
  fields->number("cores", organisation.cores, 1, kMaxCores);
  fields->number("contexts", organisation.contexts, 1, kMaxContexts);
  fields->choice<bool>("issue", organisation.in_order, {{"in-order", true}, {"out-of-order", false}});
  fields->maybe_choice<bool>("window", organisation.divided, {{"divided", true}, {"shared", false}});
  fields->maybe_number("switch_cycles", organisation.switch_cycles, 0, kMaxCycles);
  read_policy(whole, *fields, organisation, into.widths);
  if (!fields->sound("policy")) return;
  if (organisation.policy == Policy::kSingle && organisation.contexts > 1) {
    fields->fault("policy", "is single, but the core has " + std::to_string(organisation.contexts) + " contexts");
  }
  if (organisation.switch_cycles > 0 && organisation.policy != Policy::kSwitchOnStall) {
    fields->fault("switch_cycles", "applies only with policy switch_on_stall");
  }
}

void read_widths(protocol::Reader& reader, const Fields& whole, Widths& into) {
  const auto fields =
      section(reader, whole, "widths", {"fetch", "enter", "issue", "commit", "depth_cycles", "buffer", "fetch_lines", "fuses"});
  if (!fields) return;
  fields->number("fetch", into.fetch, 1, kMaxWidth);
  fields->number("enter", into.enter, 1, kMaxWidth);
  fields->number("issue", into.issue, 1, kMaxWidth);
  fields->number("commit", into.commit, 1, kMaxWidth);
  fields->number("depth_cycles", into.depth_cycles, 1, 100);
  fields->number("buffer", into.buffer, 1, kMaxEntries);
  fields->maybe_number("fetch_lines", into.fetch_lines, 1, 8);
  fields->maybe_choice<bool>("fuses", into.fuses_aes, {{"aes", true}, {"nothing", false}});
}

void read_window(protocol::Reader& reader, const Fields& whole, Description& into) {
  const auto fields = section(reader, whole, "window", {"instructions", "loads", "stores"});
  if (!fields) return;
  fields->number("instructions", into.window.instructions, 1, kMaxEntries);
  fields->number("loads", into.window.loads, 1, kMaxEntries);
  fields->number("stores", into.window.stores, 1, kMaxEntries);
  if (!into.organisation.divided) return;
  const std::uint32_t contexts = into.organisation.contexts;
  for (const auto& [key, entries] :
       {std::pair{"instructions", into.window.instructions}, {"loads", into.window.loads}, {"stores", into.window.stores}}) {
    if (fields->sound(key) && entries % contexts != 0) {
      fields->fault(key, std::to_string(entries) + " entries cannot be divided among " + std::to_string(contexts) + " contexts");
    }
  }
}

void read_queues(protocol::Reader& reader, const Fields& whole, Description& into) {
  const json* const queues = reader.array(whole.json(), whole.where(), "queues", true);
  if (queues == nullptr) return;
  if (queues->empty() || queues->size() > kMaxQueues)
    whole.fault("queues", "must hold 1 to " + std::to_string(kMaxQueues) + " queues");
  for (std::size_t i = 0; i < std::min(queues->size(), kMaxQueues); ++i) {
    const Fields fields(reader, (*queues)[i], whole.at("queues") + "/" + std::to_string(i));
    if (!reader.object(fields.json(), fields.where(), {"name", "entries"})) continue;
    Queue queue;
    fields.text("name", queue.name);
    fields.number("entries", queue.entries, 1, kMaxEntries);
    const bool is_known =
        std::any_of(into.queues.begin(), into.queues.end(), [&](const Queue& other) { return other.name == queue.name; });
    if (fields.sound("name") && is_known) fields.fault("name", "another queue is called '" + queue.name + "'");
    if (fields.sound("entries") && into.organisation.divided && queue.entries % into.organisation.contexts != 0) {
      fields.fault("entries", std::to_string(queue.entries) + " entries cannot be divided among " +
                                  std::to_string(into.organisation.contexts) + " contexts");
    }
    into.queues.push_back(queue);
  }
}

void read_executions(protocol::Reader& reader, const Fields& unit, Unit& into) {
  const json& executes = unit.json().contains("executes") ? unit.json()["executes"] : json::object();
  if (!executes.is_object() || executes.empty())
    return unit.fault("executes", "must be an object with the kinds of instructions that it executes");
  for (const auto& [name, value] : executes.items()) {
    const auto kind = std::find(kKindNames.begin(), kKindNames.end(), name);
    const Fields fields(reader, value, unit.at("executes") + "/" + name);
    if (kind == kKindNames.end() || name == "nop" || name == "unknown") {
      reader.fault(fields.where(), "is not a kind of instruction that a unit executes");
      continue;
    }
    if (!reader.object(value, fields.where(), {"latency_cycles", "every_cycles"})) continue;
    const bool accesses = name == "load" || name == "store" || name == "atomic";
    Execution execution;
    fields.number("latency_cycles", execution.latency_cycles, accesses ? 0 : 1, kMaxCycles);
    fields.number("every_cycles", execution.every_cycles, 1, kMaxCycles);
    into.executes.at(static_cast<std::size_t>(kind - kKindNames.begin())) = execution;
  }
}

void read_units(protocol::Reader& reader, const Fields& whole, Description& into) {
  const json* const units = reader.array(whole.json(), whole.where(), "units", true);
  if (units == nullptr) return;
  if (units->empty() || units->size() > kMaxUnits)
    whole.fault("units", "must hold 1 to " + std::to_string(kMaxUnits) + " kinds of units");
  std::array<bool, kKinds> executed{};
  for (std::size_t i = 0; i < std::min(units->size(), kMaxUnits); ++i) {
    const Fields fields(reader, (*units)[i], whole.at("units") + "/" + std::to_string(i));
    if (!reader.object(fields.json(), fields.where(), {"name", "count", "queue", "access_bytes", "executes"})) continue;
    Unit unit;
    std::string queue;
    fields.text("name", unit.name);
    fields.number("count", unit.count, 1, kMaxWidth);
    fields.text("queue", queue);
    fields.maybe_number("access_bytes", unit.access_bytes, 1, 256);
    const auto found = std::find_if(into.queues.begin(), into.queues.end(), [&](const Queue& q) { return q.name == queue; });
    if (found == into.queues.end()) {
      // A queue that cannot be read may have this name.
      if (fields.sound("queue") && whole.sound("queues")) fields.fault("queue", "there is no queue '" + queue + "'");
    } else {
      unit.queue = static_cast<std::size_t>(found - into.queues.begin());
    }
    read_executions(reader, fields, unit);
    for (std::size_t kind = 0; kind < kKinds; ++kind) executed.at(kind) = executed.at(kind) || unit.executes.at(kind).has_value();
    into.units.push_back(unit);
  }
  if (!whole.sound("units")) return;  // a unit that cannot be read may execute them
  // No program runs without these kinds. Other missing kinds are refused when a trace contains them.
  for (const Kind kind : {Kind::kInteger, Kind::kLoad, Kind::kStore, Kind::kBranch}) {
    if (!executed.at(static_cast<std::size_t>(kind))) {
      whole.fault("units",
                  "no unit executes instructions of kind '" + std::string(kKindNames.at(static_cast<std::size_t>(kind))) + "'");
    }
  }
}

void power_of_two(const Fields& fields, const char* key, std::uint32_t value) {
  if (fields.sound(key) && !std::has_single_bit(value)) fields.fault(key, std::to_string(value) + " is not a power of two");
}

void read_branches(protocol::Reader& reader, const Fields& whole, Branches& into) {
  const auto fields =
      section(reader, whole, "branches",
              {"predictor", "entries", "history", "local_entries", "local_history", "tagged_entries", "tagged_tables",
               "target_entries", "target_ways", "returns", "taken_cycles", "target_miss_cycles"});
  if (!fields) return;
  fields->choice<Predictor>("predictor", into.predictor,
                            {{"perfect", Predictor::kPerfect},
                             {"bimodal", Predictor::kBimodal},
                             {"gshare", Predictor::kGshare},
                             {"tournament", Predictor::kTournament},
                             {"tage", Predictor::kTage}});
  fields->maybe_number("taken_cycles", into.taken_cycles, 0, 16);
  // A perfect predictor needs none of these keys but may have them, because sweeps replace only the predictor's name.
  const bool is_perfect = into.predictor == Predictor::kPerfect;
  const auto number = [&](const char* key, std::uint32_t& value, double least, double most) {
    if (!is_perfect || fields->has(key)) fields->number(key, value, least, most);
  };
  number("entries", into.entries, 2, 1U << 22);
  number("target_entries", into.target_entries, 1, 1U << 18);
  number("target_ways", into.target_ways, 1, 64);
  number("returns", into.returns, 1, 1024);
  number("target_miss_cycles", into.target_miss_cycles, 0, 64);
  power_of_two(*fields, "entries", into.entries);
  const bool is_tournament = into.predictor == Predictor::kTournament;
  const bool is_global = into.predictor == Predictor::kGshare || is_tournament;
  if (is_global || fields->has("history")) fields->number("history", into.history, 1, 256);
  if (is_global && fields->sound("history") && into.history > 22)
    fields->fault("history", "gshare and tournament use at most 22 branches");
  if (is_tournament || fields->has("local_entries")) fields->number("local_entries", into.local_entries, 2, 1U << 20);
  if (is_tournament || fields->has("local_history")) fields->number("local_history", into.local_history, 1, 20);
  power_of_two(*fields, "local_entries", into.local_entries);
  if (into.predictor == Predictor::kTage) {
    if (!fields->has("history")) fields->fault("history", "is missing");
    fields->number("tagged_entries", into.tagged_entries, 2, 1U << 18);
    fields->number("tagged_tables", into.tagged_tables, 2, 12);
    power_of_two(*fields, "tagged_entries", into.tagged_entries);
    if (fields->sound("history", "tagged_tables") && into.history < 2 * into.tagged_tables)
      fields->fault("history", "is too short for " + std::to_string(into.tagged_tables) + " tables of growing history");
  }
  if (!fields->sound("target_entries", "target_ways")) return;
  if (into.target_entries % into.target_ways != 0 || !std::has_single_bit(into.target_entries / into.target_ways)) {
    fields->fault("target_entries", std::to_string(into.target_entries) + " entries in " + std::to_string(into.target_ways) +
                                        " ways give a number of sets that is not a power of two");
  }
}

}  // namespace

Description parse_description(const json& description, const std::string& where) {
  protocol::Reader reader("processor description");
  Description into;
  if (!reader.object(description, where,
                     {"name", "clock", "organisation", "widths", "window", "queues", "units", "store_forwarding", "branches",
                      "caches", "instruction_cache", "data_cache", "tlbs", "memory", "dma"})) {
    reader.finish();
  }
  const Fields whole(reader, description, where);
  whole.text("name", into.name);
  if (const auto clock = section(reader, whole, "clock", {"mhz"})) clock->number("mhz", into.clock_mhz, 1, 20000);
  read_widths(reader, whole, into.widths);
  read_organisation(reader, whole, into);
  read_window(reader, whole, into);
  read_queues(reader, whole, into);
  read_units(reader, whole, into);
  if (const auto forwarding = section(reader, whole, "store_forwarding", {"latency_cycles", "disambiguation"})) {
    forwarding->number("latency_cycles", into.store_forwarding_cycles, 1, kMaxCycles);
    forwarding->maybe_choice<bool>("disambiguation", into.waits_for_stores, {{"perfect", false}, {"none", true}});
  }
  read_branches(reader, whole, into.branches);
  read_memory_system(reader, whole, into);
  reader.finish();
  return into;
}

}  // namespace dpubench::cores
