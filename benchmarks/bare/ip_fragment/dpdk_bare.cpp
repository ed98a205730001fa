// ip_fragment, bare loop over rte_ip_frag for datagrams known to be whole and too long.
// requires: libdpdk >= 21.11

#include <rte_ip.h>
#include <rte_ip_frag.h>

#include <array>
#include <cstring>

#include "operators/engine.hpp"
#include "operators/support/dpdk_mbuf.hpp"

namespace dpubench {
namespace {

struct Kernel {
  dpdk::Pools pools;
  std::uint16_t mtu;
  bool v4;
  bool copy;
  dpdk::Carrier carrier;
  std::array<rte_mbuf*, 256> made{};

  Kernel(const dpdk::Pools& shared, std::uint16_t link_mtu, bool ipv4, bool copies)
      : pools(shared), mtu(link_mtu), v4(ipv4), copy(copies), carrier(shared.direct) {}

  void operator()(Burst& b) noexcept {
    const std::uint32_t headers = v4 ? 20 : 48;
    for (std::uint32_t i = 0; i < b.n; ++i) {
      rte_mbuf* const m = carrier.hold(b.in[i], b.in_len[i], 0);
      const auto room = static_cast<std::uint16_t>(made.size());
      const int n = v4 ? rte_ipv4_fragment_packet(m, made.data(), room, mtu, pools.direct, pools.indirect)
                       : rte_ipv6_fragment_packet(m, made.data(), room, mtu, pools.direct, pools.indirect);
      std::byte* out = b.out[i];
      for (int k = 0; k < n; ++k) {
        rte_mbuf* const packet = made[static_cast<std::size_t>(k)];
        auto* header = rte_pktmbuf_mtod(packet, std::byte*);
        if (v4) {
          auto* ip = reinterpret_cast<rte_ipv4_hdr*>(header);
          ip->hdr_checksum = rte_ipv4_cksum(ip);
        } else {
          std::memcpy(header + 44, b.aux[i], 4);
        }
        const auto* payload = rte_pktmbuf_mtod(packet->next, const std::byte*);
        const std::uint32_t length = packet->next->data_len;
        if (copy) {
          std::memcpy(out, &packet->pkt_len, 4);
          std::memcpy(out + 4, header, headers);
          std::memcpy(out + 4 + headers, payload, length);
          out += 4 + headers + length;
        } else {
          const std::array<std::uint32_t, 3> descriptor{static_cast<std::uint32_t>(payload - b.in[i]), length, headers};
          std::memcpy(out, descriptor.data(), 12);
          std::memcpy(out + 12, header, headers);
          out += 12 + headers;
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
    static const EngineInfo info{"ip_fragment", "dpdk-bare", "bare loop", ""};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    // Known answers, some of which must be rejected or fit, come with MTUs below 1500.
    const std::uint64_t mtu = params.number("mtu");
    return mtu < 1500 || params.number("size") + 48 <= mtu ? "the bare loop takes datagrams that must be fragmented" : "";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const dpdk::Pools pools = dpdk::pools();
    const auto mtu = static_cast<std::uint16_t>(work.params.number("mtu"));
    const bool v4 = work.params.is("ip_version", "4");
    const bool copy = work.params.is("variant", "copy");
    return kernel_session(
        [=] {
          dpdk::become_lcore();
          return Kernel(pools, mtu, v4, copy);
        },
        {});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Bare>());
}
