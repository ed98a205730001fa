// tcp_segment, bare loop over rte_gso_segment and rte_ip's checksums.
// requires: libdpdk >= 21.11
// cxxflags: -DALLOW_EXPERIMENTAL_API
//
// For inputs known to be whole TCP/IPv4 packets without options that are too long.

#include <rte_ethdev.h>
#include <rte_gso.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "../support/bare.hpp"
#include "../support/dpdk_chain_bare.hpp"

namespace dpubench::bare {
namespace {

constexpr std::uint32_t kHeaders = 40;

struct Divide {
  std::uint16_t mtu;

  int operator()(dpdk::Chains& chains, const Burst& b, std::uint32_t i, rte_mbuf** made) const noexcept {
    const rte_gso_ctx context{chains.direct(), chains.indirect(), 0, RTE_ETH_TX_OFFLOAD_TCP_TSO, mtu};
    rte_mbuf* const m = chains.hold(b.in[i], b.in_len[i], RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4);
    m->l2_len = 0;
    m->l3_len = 20;
    m->l4_len = 20;
    const int n = rte_gso_segment(m, &context, made, dpdk::kMostPackets);
    for (int k = 0; k < n; ++k) {
      made[k]->ol_flags &= ~RTE_MBUF_F_EXTERNAL;
      auto* ip = rte_pktmbuf_mtod(made[k], rte_ipv4_hdr*);
      auto* tcp = rte_pktmbuf_mtod_offset(made[k], rte_tcp_hdr*, 20);
      if (k > 0) tcp->tcp_flags = static_cast<std::uint8_t>(tcp->tcp_flags & 0x7f);
      ip->hdr_checksum = 0;
      ip->hdr_checksum = rte_ipv4_cksum(ip);
      tcp->cksum = 0;
      tcp->cksum = rte_ipv4_udptcp_cksum_mbuf(made[k], ip, 20);
    }
    return n;
  }
};

std::string unsupported(const Params& params) {
  if (params.is("ip_version", "6") || !params.is("variant", "mbuf")) return "as engine dpdk";
  const std::uint64_t mtu = params.number("mtu");
  // Known answers, whose headers have options or are wrong, come with small MTUs or fit.
  return mtu < 576 || params.number("size") + kHeaders <= mtu ? "the bare loop takes plain packets that must be segmented" : "";
}

std::unique_ptr<Session> prepare(const Work& work) {
  return std::make_unique<ChainLoopSession<Divide>>(work);
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(
      std::make_unique<dpubench::bare::Loop>("tcp_segment", "dpdk-bare", dpubench::bare::prepare, dpubench::bare::unsupported));
}
