// forward, engine portable: the two addresses are swapped in registers.
#include <rte_ether.h>

#include "datapath/stages/engine.hpp"
#include "datapath/workloads/forward/names.hpp"
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

class SwapPipeline final : public Pipeline {
 public:
  [[nodiscard]] std::vector<StageReport> report() const override {
    return {{.name = kStage,
             .engine = "portable",
             .path = {.isa = "generic", .detail = "swap_addresses"},
             .verified = "every reply is compared with what was sent"}};
  }
  [[nodiscard]] std::vector<std::unique_ptr<Stage>> open(std::uint32_t /*core*/) override {
    std::vector<std::unique_ptr<Stage>> stages;
    stages.push_back(std::make_unique<SwapStage>());
    return stages;
  }
};

class Portable final : public StageEngine {
 public:
  [[nodiscard]] const char* name() const override { return "portable"; }
  [[nodiscard]] const char* summary() const override { return "in two registers"; }
  [[nodiscard]] std::unique_ptr<Pipeline> open(const Setting& /*setting*/, inputs::Store& /*store*/) const override {
    return std::make_unique<SwapPipeline>();
  }
};

DPUBENCH_LINKED_STAGE_ENGINE(kWorkload, Portable);

}  // namespace
}  // namespace dpubench::datapath::forward
