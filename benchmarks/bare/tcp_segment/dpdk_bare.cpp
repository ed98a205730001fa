// tcp_segment, bare loop over rte_gso_segment and rte_ip's checksums.
// requires: libdpdk >= 21.11
// cxxflags: -DALLOW_EXPERIMENTAL_API
//
// For inputs known to be whole TCP/IPv4 packets without options that are too long.

#include <rte_gso.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include <array>
#include <cstring>

#include "operators/engine.hpp"
#include "operators/support/dpdk_mbuf.hpp"

namespace dpubench {
namespace {

constexpr std::uint32_t kHeaders = 40;

struct Kernel {
  rte_gso_ctx context{};
  bool copy;
  dpdk::Carrier carrier;
  std::array<rte_mbuf*, 256> made{};

  Kernel(const dpdk::Pools& pools, std::uint16_t mtu, bool copies) : copy(copies), carrier(pools.direct) {
    context = {pools.direct, pools.indirect, 0, RTE_ETH_TX_OFFLOAD_TCP_TSO, mtu};
  }

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      rte_mbuf* const m = carrier.hold(b.in[i], b.in_len[i], RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4);
      m->l2_len = 0;
      m->l3_len = 20;
      m->l4_len = 20;
      const int n = rte_gso_segment(m, &context, made.data(), static_cast<std::uint16_t>(made.size()));
      std::byte* out = b.out[i];
      for (int k = 0; k < n; ++k) {
        rte_mbuf* const packet = made[static_cast<std::size_t>(k)];
        packet->ol_flags &= ~RTE_MBUF_F_EXTERNAL;
        auto* ip = rte_pktmbuf_mtod(packet, rte_ipv4_hdr*);
        auto* tcp = rte_pktmbuf_mtod_offset(packet, rte_tcp_hdr*, 20);
        if (k > 0) tcp->tcp_flags = static_cast<std::uint8_t>(tcp->tcp_flags & 0x7f);
        ip->hdr_checksum = 0;
        ip->hdr_checksum = rte_ipv4_cksum(ip);
        tcp->cksum = 0;
        tcp->cksum = rte_ipv4_udptcp_cksum_mbuf(packet, ip, 20);
        const auto* payload = rte_pktmbuf_mtod(packet->next, const std::byte*);
        const std::uint32_t length = packet->next->data_len;
        if (copy) {
          std::memcpy(out, &packet->pkt_len, 4);
          std::memcpy(out + 4, ip, kHeaders);
          std::memcpy(out + 4 + kHeaders, payload, length);
          out += 4 + kHeaders + length;
        } else {
          const std::array<std::uint32_t, 3> descriptor{static_cast<std::uint32_t>(payload - b.in[i]), length, kHeaders};
          std::memcpy(out, descriptor.data(), 12);
          std::memcpy(out + 12, ip, kHeaders);
          out += 12 + kHeaders;
        }
      }
      rte_pktmbuf_free_bulk(made.data(), static_cast<unsigned>(n));
      b.out_len[i] = static_cast<std::uint32_t>(out - b.out[i]);
      b.result[i] = static_cast<std::uint64_t>(n);
      b.status[i] = kStatusOk;
    }
  }
};

class Bare final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"tcp_segment", "dpdk-bare", "bare loop", ""};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (params.is("ip_version", "6")) return "as engine dpdk";
    const std::uint64_t mtu = params.number("mtu");
    // Known answers, whose headers have options or are wrong, come with small MTUs or fit.
    return mtu < 576 || params.number("size") + kHeaders <= mtu ? "the bare loop takes plain packets that must be segmented" : "";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const dpdk::Pools pools = dpdk::pools();
    const auto mtu = static_cast<std::uint16_t>(work.params.number("mtu"));
    const bool copy = work.params.is("variant", "copy");
    return kernel_session(
        [=] {
          dpdk::become_lcore();
          return Kernel(pools, mtu, copy);
        },
        {});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Bare>());
}
