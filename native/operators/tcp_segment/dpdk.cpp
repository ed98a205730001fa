// tcp_segment, engine dpdk: rte_gso_segment, then what it leaves to its caller: CWR, and the checksums of every packet.
// requires: libdpdk >= 21.11
// cxxflags: -DALLOW_EXPERIMENTAL_API

#include <rte_gso.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include <vector>

#include "operators/engine.hpp"
#include "operators/support/dpdk_mbuf.hpp"
#include "operators/tcp_segment/packet.hpp"

namespace dpubench {
namespace {

using namespace segments;

template <Variant V>
struct Kernel {
  rte_gso_ctx context{};
  dpdk::Carrier carrier;
  std::vector<rte_mbuf*> packets;

  Kernel(const dpdk::Pools& pools, std::uint16_t mtu)
      : carrier(pools.direct), packets(65536 / (mtu - ip4::kHeader - tcp::kHeader) + 2) {
    context.direct_pool = pools.direct;
    context.indirect_pool = pools.indirect;
    context.gso_types = RTE_ETH_TX_OFFLOAD_TCP_TSO;
    context.gso_size = mtu;  // of the whole packet as the mbuf holds it; there is no Ethernet header in front (l2_len is 0)
  }

  void operator()(Burst& b) noexcept {
    divide_each<V>(
        b, [this](const std::byte* in, std::size_t length) { return tcp_segment::layout(true, context.gso_size, in, length); },
        [this, &b](const Layout& l, std::uint32_t i) {
          rte_mbuf* const whole = carrier.hold(b.in[i], b.in_len[i], RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4);
          whole->l2_len = 0;
          whole->l3_len = ip4::kHeader;
          whole->l4_len = static_cast<std::uint8_t>(l.headers - ip4::kHeader);
          return l.packets == 1 ? pass(l, whole, b.in[i], b.out[i]) : segment(whole, b.in[i], b.out[i]);
        });
  }

 private:
  /// A packet that fits, which the library does not touch: only the checksums are new.
  static std::byte* pass(const Layout& l, const rte_mbuf* whole, const std::byte* in, std::byte* out) noexcept {
    std::byte* const header = begin_record<V>(out, l.headers, l.headers, l.payload);
    std::memcpy(header, in, l.headers);
    auto* const ip = reinterpret_cast<rte_ipv4_hdr*>(header);
    auto* const tcp = reinterpret_cast<rte_tcp_hdr*>(ip + 1);
    ip->hdr_checksum = 0;
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    tcp->cksum = 0;
    std::uint16_t payload = 0;
    rte_raw_cksum_mbuf(whole, static_cast<std::uint32_t>(l.headers), static_cast<std::uint32_t>(l.payload), &payload);
    const std::uint32_t sum = std::uint32_t{rte_raw_cksum(tcp, l.headers - ip4::kHeader)} + rte_ipv4_phdr_cksum(ip, 0) + payload;
    tcp->cksum = checksum::finish(sum);
    return end_record<V>(header + l.headers, in + l.headers, l.payload);
  }

  std::byte* segment(rte_mbuf* whole, const std::byte* in, std::byte* out) noexcept {
    const int made = rte_gso_segment(whole, &context, packets.data(), static_cast<std::uint16_t>(packets.size()));
    if (made <= 0) return nullptr;
    const auto count = static_cast<unsigned>(made);
    for (unsigned k = 0; k < count; ++k) {
      rte_mbuf* const packet = packets[k];
      // The library copies the input's flags to the new header mbuf, which is no external buffer and must not be freed as one.
      packet->ol_flags &= ~RTE_MBUF_F_EXTERNAL;
      auto* const ip = rte_pktmbuf_mtod(packet, rte_ipv4_hdr*);
      auto* const tcp = reinterpret_cast<rte_tcp_hdr*>(ip + 1);
      if (k != 0) tcp->tcp_flags = static_cast<std::uint8_t>(tcp->tcp_flags & ~RTE_TCP_CWR_FLAG);
      ip->hdr_checksum = 0;
      ip->hdr_checksum = rte_ipv4_cksum(ip);
      tcp->cksum = 0;
      tcp->cksum = rte_ipv4_udptcp_cksum_mbuf(packet, ip, ip4::kHeader);
      out = dpdk::write_record<V>(out, packet, in);
    }
    rte_pktmbuf_free_bulk(packets.data(), count);
    return out;
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
    return params.is("ip_version", "6") ? "rte_gso segments TCP over IPv4 only" : "";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return with_variant(work.params, [&work]<Variant V>() {
      return dpdk::dividing_session<Kernel<V>>(work, {"as compiled", "rte_gso_segment, rte_ipv4_udptcp_cksum_mbuf", false});
    });
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Dpdk>());
}
