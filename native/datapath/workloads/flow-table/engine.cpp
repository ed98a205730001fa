// Makes a pipeline of an engine's tables.
#include "datapath/workloads/flow-table/engine.hpp"

#include <chrono>
#include <mutex>
#include <set>

#include "datapath/workloads/flow-table/oracle.hpp"
#include "datapath/workloads/flow-table/stage.hpp"

namespace dpubench::datapath::flow_table {
namespace {

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
    session_ = engine.open_tables(setting);
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

}  // namespace

std::string TableEngine::unsupported(const Setting& setting) const {
  return unsupported_table(setting_of(setting));
}

std::unique_ptr<Pipeline> TableEngine::open(const Setting& setting, inputs::Store& store) const {
  return std::make_unique<TablePipeline>(setting_of(setting), *this, verification_frames(store, setting.seed));
}

}  // namespace dpubench::datapath::flow_table
