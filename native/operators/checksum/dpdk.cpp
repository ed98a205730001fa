// checksum, engine dpdk: rte_raw_cksum, which is compiled into this module (a header), with the flags that libdpdk asks for.
// requires: libdpdk >= 21.11

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_version.h>

#include "operators/engine.hpp"

namespace dpubench {
namespace {

struct Kernel {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      // The routine sums in the machine's byte order, and its caller takes the complement.
      b.result[i] = rte_be_to_cpu_16(static_cast<std::uint16_t>(~rte_raw_cksum(b.in[i], b.in_len[i])));
      b.out_len[i] = 0;
      b.status[i] = kStatusOk;
    }
  }
};

class Dpdk final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"checksum", "dpdk", "rte_raw_cksum", rte_version()};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    return params.is("mode", "incremental") ? "DPDK has no routine that updates a checksum (RFC 1624)" : "";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    return kernel_session([] { return Kernel{}; }, {"as compiled", "rte_raw_cksum", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Dpdk>());
}
