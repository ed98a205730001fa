// tcp_segment, engine dpdk: rte_gso_segment, then the parts that it leaves to its caller: CWR, and the checksums of every packet.
// requires: libdpdk >= 21.11
// cxxflags: -DALLOW_EXPERIMENTAL_API

#include <rte_ethdev.h>
#include <rte_gso.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "operators/engine.hpp"
#include "operators/support/dpdk/chains.hpp"
#include "operators/tcp_segment/packet.hpp"

namespace dpubench {
namespace {

using namespace segments;

struct Kernel {
  static constexpr std::size_t kHeader = ip4::kHeader + tcp::kHeader;
  std::uint16_t mtu;

  [[nodiscard]] Layout layout(const std::byte* in, std::size_t length) const noexcept {
    return tcp_segment::layout(true, mtu, in, length);
  }

  std::uint32_t divide(dpdk::Chains& chains, const Layout& l, const Burst& b, std::uint32_t i, rte_mbuf** made) const noexcept {
    rte_mbuf* const whole = chains.hold(b.in[i], b.in_len[i], RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4);
    whole->l2_len = 0;
    whole->l3_len = ip4::kHeader;
    whole->l4_len = static_cast<std::uint8_t>(l.headers - ip4::kHeader);
    if (l.packets == 1) return pass(chains, l, whole, b.in[i], made);
    // gso_size counts the whole packet in the mbuf; there is no Ethernet header in front (l2_len is 0).
    const rte_gso_ctx context{chains.direct(), chains.indirect(), 0, RTE_ETH_TX_OFFLOAD_TCP_TSO, mtu};
    const int count = rte_gso_segment(whole, &context, made, static_cast<std::uint16_t>(l.packets));
    if (count <= 0) return 0;
    for (int k = 0; k < count; ++k) {
      // The library copies the input's flags to the new header mbuf. This mbuf is no external buffer and must not be freed as
      // one.
      made[k]->ol_flags &= ~RTE_MBUF_F_EXTERNAL;
      if (k != 0) {
        auto* const header = rte_pktmbuf_mtod_offset(made[k], rte_tcp_hdr*, ip4::kHeader);
        header->tcp_flags = static_cast<std::uint8_t>(header->tcp_flags & ~RTE_TCP_CWR_FLAG);
      }
      write_checksums(made[k]);
    }
    return static_cast<std::uint32_t>(count);
  }

 private:
  static void write_checksums(rte_mbuf* packet) noexcept {
    auto* const ip = rte_pktmbuf_mtod(packet, rte_ipv4_hdr*);
    auto* const tcp = reinterpret_cast<rte_tcp_hdr*>(ip + 1);
    ip->hdr_checksum = 0;
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    tcp->cksum = 0;
    tcp->cksum = rte_ipv4_udptcp_cksum_mbuf(packet, ip, ip4::kHeader);
  }

  /// Make the packet of an input that fits. The library does not touch it: only the checksums are new.
  static std::uint32_t pass(dpdk::Chains& chains, const Layout& l, rte_mbuf* whole, const std::byte* in,
                            rte_mbuf** made) noexcept {
    made[0] = chains.make(whole, l.headers, l.headers, l.payload);
    if (made[0] == nullptr) return 0;
    std::memcpy(rte_pktmbuf_mtod(made[0], std::byte*), in, l.headers);
    write_checksums(made[0]);
    return 1;
  }
};

class Dpdk final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"tcp_segment", "dpdk", "rte_gso_segment on indirect mbufs, checksums by rte_ip",
                                 dpdk::version()};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    return params.is("ip_version", "6") ? "rte_gso segments TCP over IPv4 only" : mbufs_only(params);
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<dpdk::ChainSession<Kernel>>(
        work, PathInfo{"as compiled", "rte_gso_segment, rte_ipv4_udptcp_cksum_mbuf", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Dpdk>());
}
