// forward: the null workload. Its rates and latencies are the limit for every other workload on the same port.
#include "datapath/workloads/forward/names.hpp"
#include "datapath/workloads/swapped.hpp"

namespace dpubench::datapath::forward {
namespace {

class Forward final : public Workload {
 public:
  [[nodiscard]] const WorkloadInfo& info() const override {
    static const WorkloadInfo kInfo = {
        .name = kWorkload,
        .summary = "null workload: swap the MAC addresses and send the packet back",
        .definition =
            "Source and destination address of the Ethernet header are swapped; every other byte comes back as it was "
            "sent. Any frame with a whole Ethernet header is sent back, whatever it holds.",
        .parameters = {},
        .stages = {{.name = kStage,
                    .summary = "swap source and destination MAC address",
                    .op = "",
                    .engines = stage_engine_infos(kWorkload),
                    .default_engine = "portable"}},
        .inputs = {},
        .sources = {"dpdk-testpmd, forward mode macswap"}};
    return kInfo;
  }
  [[nodiscard]] std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& store,
                                               const EngineCatalog& /*engines*/) const override {
    return open_stage_engine(kWorkload, kStage, setting, store);
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
