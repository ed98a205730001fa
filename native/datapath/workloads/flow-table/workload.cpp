// flow-table: counts packets and bytes of every flow, and sends the packet back.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>

#include "datapath/workloads/flow-table/oracle.hpp"
#include "datapath/workloads/flow-table/stage.hpp"
#include "datapath/workloads/swapped.hpp"

namespace dpubench::datapath::flow_table {
namespace {

constexpr const char* kStage = "table";

Full full_of(const Params& params) {
  if (params.is("full", "evict_oldest")) return Full::kEvictOldest;
  return params.is("full", "forward_uncounted") ? Full::kForwardUncounted : Full::kDrop;
}

TableSetting setting_of(const Setting& setting) {
  return {.limits = {.flows = static_cast<std::uint32_t>(setting.params.number("flows")),
                     .idle_ms = static_cast<std::uint32_t>(setting.params.number("idle_ms")),
                     .full = full_of(setting.params)},
          .key = setting.params.is("key", "five_tuple") ? KeyKind::kFiveTuple : KeyKind::kPaper,
          .is_prefilled = setting.params.is("start", "prefilled"),
          .cores = setting.cores,
          .seed = setting.seed,
          .max_frame = setting.max_frame,
          .port_kind = setting.port_kind,
          .ports = setting.ports};
}

/// Return the engine of this name. @throws Error with the reason when there is no such engine or it cannot do this
const TableEngine& require_engine(const std::string& name, const TableSetting& setting) {
  std::string known;
  for (const EngineEntry& entry : engines()) {
    known += (known.empty() ? "" : ", ") + entry.name;
    if (entry.name != name) continue;
    if (!entry.reason.empty()) throw Error("flow-table, engine " + name + ": " + entry.reason);
    const std::string reason = entry.engine->unsupported(setting);
    if (!reason.empty()) throw Error("flow-table, engine " + name + ": " + reason);
    return *entry.engine;
  }
  throw Error("flow-table: its stage has no engine '" + name + "'; it has " + known);
}

/// The order of dumps in a collection: it tells the first one from those that follow. A core dumps once in a collection.
class DumpOrder {
 public:
  bool starts(std::uint32_t core) {
    const std::scoped_lock lock(mutex_);
    const bool again = !dumped_.insert(core).second;
    if (again) dumped_ = {core};
    return again || dumped_.size() == 1;
  }

 private:
  std::mutex mutex_;
  std::set<std::uint32_t> dumped_;
};

class TablePipeline final : public Pipeline {
 public:
  TablePipeline(const TableSetting& setting, const TableEngine& engine, const Frames& frames)
      : kept_{.limits = setting.limits, .key = setting.key, .is_prefilled = setting.is_prefilled} {
    report_.name = kStage;
    report_.engine = engine.name();
    report_.verified = engine.verify(setting, frames);
    const auto start = std::chrono::steady_clock::now();
    session_ = engine.open(setting);
    report_.build_ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    report_.path = session_->path();
    report_.memory_bytes = session_->memory_bytes();
  }

  [[nodiscard]] std::vector<StageReport> report() const override { return {report_}; }
  [[nodiscard]] std::vector<std::unique_ptr<Stage>> open(std::uint32_t core) override {
    std::vector<std::unique_ptr<Stage>> stages;
    stages.push_back(
        std::make_unique<TableStage>(*session_, session_->open(core), kept_, [this, core] { return dumps_.starts(core); }));
    return stages;
  }

 private:
  TableSetting kept_;  ///< the settings that stages need; the ports are not in it
  StageReport report_;
  std::unique_ptr<TableSession> session_;
  DumpOrder dumps_;
};

/// The pipeline for the other half of a split: no stage of this workload runs here.
class EmptyPipeline final : public Pipeline {
 public:
  [[nodiscard]] std::vector<StageReport> report() const override { return {}; }
  [[nodiscard]] std::vector<std::unique_ptr<Stage>> open(std::uint32_t /*core*/) override { return {}; }
};

std::vector<StageEngine> stage_engines() {
  std::vector<StageEngine> found;
  for (const EngineEntry& entry : engines()) found.push_back({entry.name, entry.summary, entry.reason, entry.port});
  return found;
}

class FlowTableWorkload final : public Workload {
 public:
  [[nodiscard]] const WorkloadInfo& info() const override {
    static const WorkloadInfo kInfo = {
        .name = "flow-table",
        .summary = "count packets and bytes of every flow, and send the packet back",
        .definition =
            "Of each packet the key is extracted and looked up, and packets and bytes (of the frame, with FCS) of its flow are "
            "counted; a new flow is entered. Packets without a whole transport header (later fragments, ICMP, tunnels) have port "
            "0. A packet that is not IP, ends inside a header or contradicts itself has no key: it is counted as unkeyed. A flow "
            "without a packet for more than idle_ms is retired at its next packet (which begins a new record) or when the scan "
            "of the table comes to it. The records of a key, live and retired, sum up to its packets. Each core has its own "
            "table. Every frame with a whole Ethernet header is sent back with its MAC addresses swapped, unless the table is "
            "full and drops.",
        .parameters =
            {{.name = "flows",
              .summary = "flows that a table holds",
              .values = {"1000", "10000", "100000", "1000000", "10000000"},
              .default_value = "100000",
              .unit = "1",
              .min = 1000,
              .max = 10'000'000},
             {.name = "key",
              .summary = "paper: IP addresses, destination port, MAC addresses; five_tuple: IP addresses, ports, protocol",
              .values = {"paper", "five_tuple"},
              .default_value = "paper",
              .is_mode = true,
              .unit = ""},
             {.name = "idle_ms",
              .summary = "a flow without a packet for a longer time is retired; 0: never",
              .values = {"0", "100", "1000"},
              .default_value = "0",
              .unit = "ms",
              .min = 0,
              .max = 86'400'000},
             {.name = "full",
              .summary = "when a new flow finds the table full: drop its packet, evict the flow that entered first, or forward "
                         "the packet uncounted",
              .values = {"drop", "evict_oldest", "forward_uncounted"},
              .default_value = "drop",
              .unit = ""},
             {.name = "start",
              .summary =
                  "prefilled: the table knows the flows of the traffic before a trial begins, as in steady state; cold: it "
                  "is empty, and every flow's first packet enters it",
              .values = {"prefilled", "cold"},
              .default_value = "prefilled",
              .unit = ""}},
        .stages = {{.name = kStage,
                    .summary = "look the flow up, count, enter, retire",
                    .op = "",
                    .engines = stage_engines(),
                    .default_engine = "portable"}},
        .inputs = {},
        .sources = {"DPUBench (Wang, Wang, Wang, 2023), application \"flow table\"", "RFC 7011 (flow keys, idle time-out)"}};
    return kInfo;
  }

  [[nodiscard]] std::string unsupported(const Setting& setting, std::string_view stage) const override {
    const std::string& name = setting.engines.at(std::string(stage));
    const auto all = engines();
    const auto entry = std::find_if(all.begin(), all.end(), [&](const EngineEntry& one) { return one.name == name; });
    return entry == all.end() || entry->engine == nullptr ? "" : entry->engine->unsupported(setting_of(setting));
  }

  [[nodiscard]] std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& store,
                                               const EngineCatalog& /*engines*/) const override {
    if (std::find(setting.stages.begin(), setting.stages.end(), kStage) == setting.stages.end())
      return std::make_unique<EmptyPipeline>();
    const std::string& name = setting.engines.at(kStage);
    const TableSetting table = setting_of(setting);
    const TableEngine& engine = require_engine(name, table);
    return std::make_unique<TablePipeline>(table, engine, verification_frames(store, setting.seed));
  }

  [[nodiscard]] std::unique_ptr<Expectation> expect(const Params& /*params*/, inputs::Store& /*store*/,
                                                    const EngineCatalog& /*engines*/,
                                                    std::span<const FrameTemplate> /*templates*/) const override {
    return expect_swapped();
  }
};

DPUBENCH_WORKLOAD(FlowTableWorkload);

}  // namespace
}  // namespace dpubench::datapath::flow_table
