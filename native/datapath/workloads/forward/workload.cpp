// forward: the null workload. Its rates and latencies are the floor of every other workload's on the same port.

#include <rte_ether.h>

#include "datapath/workloads/swapped.hpp"

namespace dpubench::datapath {
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
    return {{.name = "swap",
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
        .stages = {{.name = "swap",
                    .summary = "swap source and destination MAC address",
                    .op = "",
                    .engines = {{.name = "portable", .summary = "in two registers", .reason = ""}},
                    .default_engine = "portable"}},
        .inputs = {},
        .sources = {"dpdk-testpmd, forward mode macswap"}};
    return kInfo;
  }
  [[nodiscard]] std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& /*store*/,
                                               const EngineCatalog& /*engines*/) const override {
    return std::make_unique<ForwardPipeline>(setting);
  }
  [[nodiscard]] std::unique_ptr<Expectation> expect(const Params& /*params*/, inputs::Store& /*store*/,
                                                    const EngineCatalog& /*engines*/,
                                                    std::span<const FrameTemplate> /*templates*/) const override {
    return expect_swapped();
  }
};

DPUBENCH_WORKLOAD(Forward);

}  // namespace
}  // namespace dpubench::datapath
