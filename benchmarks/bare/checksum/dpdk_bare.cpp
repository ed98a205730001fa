// checksum, bare loop over rte_raw_cksum: what engine dpdk is compared with.
// requires: libdpdk >= 21.11

#include <rte_ip.h>

#include "../support/bare.hpp"

namespace dpubench::bare {
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

std::string unsupported(const Params& params) {
  return params.is("mode", "incremental") ? "as engine dpdk" : "";
}

std::unique_ptr<Session> prepare(const Work&) {
  return timed_session([] { return Kernel{}; }, {});
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::bare::Loop>("checksum", "dpdk-bare", dpubench::bare::prepare, dpubench::bare::unsupported));
}
