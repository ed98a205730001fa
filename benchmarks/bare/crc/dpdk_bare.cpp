// crc, bare loops over rte_net_crc_calc: what engines dpdk-sse and dpdk-avx512 (dpdk-neon) are compared with.
// requires: libdpdk >= 21.11, libdpdk < 24.11
//
// They select no routine: each runs whatever the engine of its name, which ran the window before in the same group, has selected.
// A group that compares them therefore has one such engine.

#include <rte_net_crc.h>

#include "../support/timed_loop.hpp"
#include "operators/support/dpdk/dpdk.hpp"

namespace dpubench {
namespace {

template <rte_net_crc_type Type>
struct Kernel {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = rte_net_crc_calc(b.in[i], b.in_len[i], Type);
      b.out_len[i] = 0;
      b.status[i] = kStatusOk;
    }
  }
};

class Bare final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  explicit Bare(const char* name) : info_{"crc", name, "bare loop", ""} {}
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    return params.is("algorithm", "CRC-32/ISO-HDLC") || params.is("algorithm", "CRC-16/IBM-SDLC") ? "" : "as the engines";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    dpdk::require_eal();
    if (work.params.is("algorithm", "CRC-32/ISO-HDLC"))
      return bare::timed_session([] { return Kernel<RTE_NET_CRC32_ETH>{}; }, {});
    return bare::timed_session([] { return Kernel<RTE_NET_CRC16_CCITT>{}; }, {});
  }

 private:
  EngineInfo info_;
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  for (const char* name : {"dpdk-sse-bare", "dpdk-avx512-bare", "dpdk-neon-bare"})
    sink.add(std::make_unique<dpubench::Bare>(name));
}
