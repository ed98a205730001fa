// checksum, bare loop over rte_raw_cksum: what engine dpdk is compared with.
// requires: libdpdk >= 21.11

#include <rte_ip.h>

#include "operators/engine.hpp"

namespace dpubench {
namespace {

struct Kernel {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const auto complement = static_cast<std::uint16_t>(~rte_raw_cksum(b.in[i], b.in_len[i]));
      b.result[i] = rte_be_to_cpu_16(complement);
      b.out_len[i] = 0;
      b.status[i] = kStatusOk;
    }
  }
};

class Bare final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"checksum", "dpdk-bare", "bare loop", ""};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    return params.is("mode", "incremental") ? "as engine dpdk" : "";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    return kernel_session([] { return Kernel{}; }, {});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Bare>());
}
