// ip_fragment, engine dpdk: rte_ipv4_fragment_packet and rte_ipv6_fragment_packet on indirect mbufs.
// requires: libdpdk >= 21.11
//
// The engine does what these functions leave to their caller: the IPv4 header checksum, and the IPv6 identification (they write
// 0).

#include <rte_ip.h>
#include <rte_ip_frag.h>

#include "operators/engine.hpp"
#include "operators/ip_fragment/packet.hpp"
#include "operators/support/dpdk/chains.hpp"

namespace dpubench {
namespace {

using namespace segments;

template <bool V4>
struct Kernel {
  static constexpr std::size_t kHeader = V4 ? ip4::kHeader : ip6::kHeader;
  std::uint16_t mtu;

  [[nodiscard]] Layout layout(const std::byte* in, std::size_t length) const noexcept {
    return ip_fragment::layout(V4, mtu, in, length);
  }

  std::uint32_t divide(dpdk::Chains& chains, const Layout& l, const Burst& b, std::uint32_t i, rte_mbuf** made) const noexcept {
    rte_mbuf* const whole = chains.hold(b.in[i], b.in_len[i], 0);
    if (l.packets == 1) return pass(chains, l, whole, b.in[i], made);
    const auto room = static_cast<std::uint16_t>(l.packets);
    const int count = V4 ? rte_ipv4_fragment_packet(whole, made, room, mtu, chains.direct(), chains.indirect())
                         : rte_ipv6_fragment_packet(whole, made, room, mtu, chains.direct(), chains.indirect());
    if (count <= 0) return 0;
    for (int k = 0; k < count; ++k) {
      if constexpr (V4) {
        auto* const ip = rte_pktmbuf_mtod(made[k], rte_ipv4_hdr*);
        ip->hdr_checksum = rte_ipv4_cksum(ip);  // the library leaves zero there
      } else {
        std::memcpy(rte_pktmbuf_mtod(made[k], std::byte*) + ip6::kHeader + 4, b.aux[i], ip_fragment::kAuxBytes);
      }
    }
    return static_cast<std::uint32_t>(count);
  }

 private:
  /// Make the packet of a datagram that fits. The library is not called, because it would make a single fragment of it.
  static std::uint32_t pass(dpdk::Chains& chains, const Layout& l, rte_mbuf* whole, const std::byte* in,
                            rte_mbuf** made) noexcept {
    made[0] = chains.make(whole, l.headers, l.headers, l.payload);
    if (made[0] == nullptr) return 0;
    std::memcpy(rte_pktmbuf_mtod(made[0], std::byte*), in, l.headers);
    if constexpr (V4) {
      auto* const ip = rte_pktmbuf_mtod(made[0], rte_ipv4_hdr*);
      ip->hdr_checksum = 0;
      ip->hdr_checksum = rte_ipv4_cksum(ip);
    }
    return 1;
  }
};

class Dpdk final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"ip_fragment", "dpdk", "rte_ipv4_fragment_packet, rte_ipv6_fragment_packet on indirect mbufs",
                                 dpdk::version()};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override { return mbufs_only(params); }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return with_version(work.params, [&work]<bool V4>() -> std::unique_ptr<Session> {
      return std::make_unique<dpdk::ChainSession<Kernel<V4>>>(
          work, PathInfo{"as compiled", V4 ? "rte_ipv4_fragment_packet" : "rte_ipv6_fragment_packet", false});
    });
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Dpdk>());
}
