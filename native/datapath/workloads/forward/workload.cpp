// forward: the null workload. Its rates and latencies are the limit for every other workload on the same port.

#include <rte_ether.h>

#include <algorithm>

#include "datapath/workloads/forward/engine.hpp"
#include "datapath/workloads/swapped.hpp"

namespace dpubench::datapath::forward {
namespace {

class SwapStage final : public Stage {
 public:
  [[nodiscard]] bool reads_headers() const noexcept override { return false; }

  std::uint32_t run(Batch& batch) noexcept override {
    std::uint32_t worked = 0;
    for (std::uint32_t i = 0; i < batch.n; ++i) {
      if (batch.fate[i] != Fate::kForward) continue;
      if (batch.packets[i]->data_len < RTE_ETHER_HDR_LEN) [[unlikely]] {
        batch.fate[i] = Fate::kDropShort;
        continue;
      }
      swap_addresses(batch.data(i));
      ++worked;
    }
    return worked;
  }
};

class ForwardPipeline final : public Pipeline {
 public:
  explicit ForwardPipeline(const Setting& setting) : runs_here_(!setting.stages.empty()) {}

  [[nodiscard]] std::vector<StageReport> report() const override {
    if (!runs_here_) return {};
    return {{.name = kStage,
             .engine = "portable",
             .path = {.isa = "generic", .detail = "swap_addresses"},
             .verified = "every reply is compared with what was sent"}};
  }
  [[nodiscard]] std::vector<std::unique_ptr<Stage>> open(std::uint32_t /*core*/) override {
    std::vector<std::unique_ptr<Stage>> stages;
    if (runs_here_) stages.push_back(std::make_unique<SwapStage>());
    return stages;
  }

 private:
  bool runs_here_;
};

std::span<const StageModule> modules() {
  static const std::vector<StageModule> found = load_stage_modules("forward", kSwapEngineAbi);
  return found;
}

/// Return the engine of a module, or nullptr for the workload's own engine and for one that could not be loaded.
const SwapEngine* engine_of(const Setting& setting) {
  const auto all = modules();
  const std::string& name = setting.engines.at(kStage);
  const auto found = std::find_if(all.begin(), all.end(), [&](const StageModule& module) { return module.name == name; });
  return found == all.end() ? nullptr : static_cast<const SwapEngine*>(found->engine);
}

std::vector<StageEngine> stage_engines() {
  std::vector<StageEngine> found = {{.name = "portable", .summary = "in two registers", .reason = ""}};
  for (const StageModule& module : modules()) {
    const auto* const engine = static_cast<const SwapEngine*>(module.engine);
    found.push_back(engine == nullptr ? StageEngine{module.name, {}, module.reason}
                                      : StageEngine{engine->name(), engine->summary(), engine->unavailable(), engine->port()});
  }
  return found;
}

class Forward final : public Workload {
 public:
  [[nodiscard]] const WorkloadInfo& info() const override {
    static const WorkloadInfo kInfo = {
        .name = "forward",
        .summary = "null workload: swap the MAC addresses and send the packet back",
        .definition =
            "Source and destination address of the Ethernet header are swapped; every other byte comes back as it was "
            "sent. Any frame with a whole Ethernet header is sent back, whatever it holds.",
        .parameters = {},
        .stages = {{.name = kStage,
                    .summary = "swap source and destination MAC address",
                    .op = "",
                    .engines = stage_engines(),
                    .default_engine = "portable"}},
        .inputs = {},
        .sources = {"dpdk-testpmd, forward mode macswap"}};
    return kInfo;
  }
  [[nodiscard]] std::string unsupported(const Setting& setting, std::string_view /*stage*/) const override {
    const SwapEngine* const engine = engine_of(setting);
    return engine == nullptr ? "" : engine->unsupported(setting);
  }
  [[nodiscard]] std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& /*store*/,
                                               const EngineCatalog& /*engines*/) const override {
    const SwapEngine* const engine = setting.stages.empty() ? nullptr : engine_of(setting);
    if (engine == nullptr) return std::make_unique<ForwardPipeline>(setting);
    if (const std::string reason = engine->unsupported(setting); !reason.empty())
      throw Error("forward, engine " + std::string(engine->name()) + ": " + reason);
    return engine->open(setting);
  }
  [[nodiscard]] std::unique_ptr<Expectation> expect(const Params& /*params*/, inputs::Store& /*store*/,
                                                    const EngineCatalog& /*engines*/,
                                                    std::span<const FrameTemplate> /*templates*/) const override {
    return expect_swapped();
  }
};

DPUBENCH_WORKLOAD(Forward);

}  // namespace
}  // namespace dpubench::datapath::forward
