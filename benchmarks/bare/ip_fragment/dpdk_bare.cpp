// ip_fragment, bare loop over rte_ip_frag for datagrams known to be whole and too long.
// requires: libdpdk >= 21.11

#include <rte_ip.h>
#include <rte_ip_frag.h>

#include "../support/bare.hpp"
#include "../support/dpdk_chain_bare.hpp"

namespace dpubench::bare {
namespace {

template <bool V4>
struct Divide {
  std::uint16_t mtu;

  int operator()(dpdk::Chains& chains, const Burst& b, std::uint32_t i, rte_mbuf** made) const noexcept {
    rte_mbuf* const m = chains.hold(b.in[i], b.in_len[i], 0);
    const int n = V4 ? rte_ipv4_fragment_packet(m, made, dpdk::kMostPackets, mtu, chains.direct(), chains.indirect())
                     : rte_ipv6_fragment_packet(m, made, dpdk::kMostPackets, mtu, chains.direct(), chains.indirect());
    for (int k = 0; k < n; ++k) {
      if constexpr (V4) {
        auto* ip = rte_pktmbuf_mtod(made[k], rte_ipv4_hdr*);
        ip->hdr_checksum = rte_ipv4_cksum(ip);
      } else {
        std::memcpy(rte_pktmbuf_mtod(made[k], std::byte*) + 44, b.aux[i], 4);
      }
    }
    return n;
  }
};

std::string unsupported(const Params& params) {
  if (!params.is("variant", "mbuf")) return "as engine dpdk";
  // Known answers, some of which must be rejected or fit, come with MTUs below 1500.
  const std::uint64_t mtu = params.number("mtu");
  return mtu < 1500 || params.number("size") + 48 <= mtu ? "the bare loop takes datagrams that must be fragmented" : "";
}

std::unique_ptr<Session> prepare(const Work& work) {
  if (work.params.is("ip_version", "4")) return std::make_unique<ChainLoopSession<Divide<true>>>(work);
  return std::make_unique<ChainLoopSession<Divide<false>>>(work);
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(
      std::make_unique<dpubench::bare::Loop>("ip_fragment", "dpdk-bare", dpubench::bare::prepare, dpubench::bare::unsupported));
}
