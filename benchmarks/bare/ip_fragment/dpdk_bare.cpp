// ip_fragment, bare loop over rte_ip_frag for datagrams known to be whole and too long.
// requires: libdpdk >= 21.11

#include <rte_ip.h>
#include <rte_ip_frag.h>

#include "../support/bare.hpp"
#include "../support/dpdk_record_bare.hpp"

namespace dpubench::bare {
namespace {

template <bool V4, bool Copy>
struct Kernel {
  dpdk::Pools pools;
  std::uint16_t mtu;
  dpdk::Carrier carrier;
  Made made{};

  Kernel(const dpdk::Pools& shared, std::uint16_t link_mtu) : pools(shared), mtu(link_mtu), carrier(shared.direct) {}

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      rte_mbuf* const m = carrier.hold(b.in[i], b.in_len[i], 0);
      const auto room = static_cast<std::uint16_t>(made.size());
      const int n = V4 ? rte_ipv4_fragment_packet(m, made.data(), room, mtu, pools.direct, pools.indirect)
                       : rte_ipv6_fragment_packet(m, made.data(), room, mtu, pools.direct, pools.indirect);
      write_records<Copy, V4 ? 20 : 48>(b, i, made, n, [&](rte_mbuf* packet, int) {
        if constexpr (V4) {
          auto* ip = rte_pktmbuf_mtod(packet, rte_ipv4_hdr*);
          ip->hdr_checksum = rte_ipv4_cksum(ip);
        } else {
          std::memcpy(rte_pktmbuf_mtod(packet, std::byte*) + 44, b.aux[i], 4);
        }
      });
    }
  }
};

std::string unsupported(const Params& params) {
  // Known answers, some of which must be rejected or fit, come with MTUs below 1500.
  const std::uint64_t mtu = params.number("mtu");
  return mtu < 1500 || params.number("size") + 48 <= mtu ? "the bare loop takes datagrams that must be fragmented" : "";
}

std::unique_ptr<Session> prepare(const Work& work) {
  const bool copy = work.params.is("variant", "copy");
  if (work.params.is("ip_version", "4")) {
    return copy ? dividing_session<Kernel<true, true>>(work) : dividing_session<Kernel<true, false>>(work);
  }
  return copy ? dividing_session<Kernel<false, true>>(work) : dividing_session<Kernel<false, false>>(work);
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(
      std::make_unique<dpubench::bare::Loop>("ip_fragment", "dpdk-bare", dpubench::bare::prepare, dpubench::bare::unsupported));
}
