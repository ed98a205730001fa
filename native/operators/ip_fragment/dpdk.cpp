// ip_fragment, engine dpdk: rte_ipv4_fragment_packet and rte_ipv6_fragment_packet on indirect mbufs.
// requires: libdpdk >= 21.11
//
// What they leave to their caller is done here: the IPv4 header checksum, and the IPv6 identification (they write 0).

#include <rte_ip.h>
#include <rte_ip_frag.h>

#include <vector>

#include "operators/engine.hpp"
#include "operators/ip_fragment/packet.hpp"
#include "operators/support/dpdk_mbuf.hpp"

namespace dpubench {
namespace {

using namespace segments;

template <bool V4, Variant V>
struct Kernel {
  dpdk::Pools pools;
  std::uint16_t mtu;
  dpdk::Carrier carrier;
  std::vector<rte_mbuf*> packets;

  Kernel(const dpdk::Pools& shared, std::uint16_t link_mtu)
      : pools(shared),
        mtu(link_mtu),
        carrier(shared.direct),
        packets(65536 / (link_mtu - (V4 ? ip4::kHeader : ip6::kHeader + ip6::kFragmentHeader) - ip_fragment::kUnit + 1) + 2) {}

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const ip_fragment::Layout l = ip_fragment::layout(V4, mtu, b.in[i], b.in_len[i]);
      b.status[i] = kStatusRejected;
      b.result[i] = 0;
      b.out_len[i] = 0;
      if (l.packets == 0 || record_bytes(V, l.packets, l.out, l.payload) > b.out_room[i]) continue;
      std::byte* const end = l.packets == 1 ? pass(l, b.in[i], b.out[i]) : fragment(b.in[i], b.in_len[i], b.aux[i], b.out[i]);
      if (end == nullptr) continue;
      b.result[i] = l.packets;
      b.out_len[i] = static_cast<std::uint32_t>(end - b.out[i]);
      b.status[i] = kStatusOk;
    }
  }

 private:
  /// A datagram that fits is not given to the library, which would make a single fragment of it.
  static std::byte* pass(const ip_fragment::Layout& l, const std::byte* in, std::byte* out) noexcept {
    std::byte* const header = begin_record<V>(out, l.header, l.header, l.payload);
    std::memcpy(header, in, l.header);
    if constexpr (V4) {
      auto* const ip = reinterpret_cast<rte_ipv4_hdr*>(header);
      ip->hdr_checksum = 0;
      ip->hdr_checksum = rte_ipv4_cksum(ip);
    }
    if constexpr (V == Variant::kCopy) std::memcpy(header + l.header, in + l.header, l.payload);
    return header + l.header + (V == Variant::kCopy ? l.payload : 0);
  }

  std::byte* fragment(const std::byte* in, std::uint32_t length, const std::byte* aux, std::byte* out) noexcept {
    rte_mbuf* const whole = carrier.hold(in, length, 0);
    const auto room = static_cast<std::uint16_t>(packets.size());
    const int made = V4 ? rte_ipv4_fragment_packet(whole, packets.data(), room, mtu, pools.direct, pools.indirect)
                        : rte_ipv6_fragment_packet(whole, packets.data(), room, mtu, pools.direct, pools.indirect);
    if (made <= 0) return nullptr;
    const auto count = static_cast<unsigned>(made);
    for (unsigned k = 0; k < count; ++k) {
      if constexpr (V4) {
        auto* const ip = rte_pktmbuf_mtod(packets[k], rte_ipv4_hdr*);
        ip->hdr_checksum = rte_ipv4_cksum(ip);  // the library left zero there
      } else {
        std::memcpy(rte_pktmbuf_mtod(packets[k], std::byte*) + ip6::kHeader + 4, aux, ip_fragment::kAuxBytes);
      }
      out = dpdk::write_record<V>(out, packets[k], in);
    }
    rte_pktmbuf_free_bulk(packets.data(), count);
    return out;
  }
};

template <bool V4, Variant V>
std::unique_ptr<Session> session(const dpdk::Pools& pools, std::uint16_t mtu) {
  return kernel_session(
      [pools, mtu] {
        dpdk::become_lcore();
        return Kernel<V4, V>(pools, mtu);
      },
      {"as compiled", V4 ? "rte_ipv4_fragment_packet" : "rte_ipv6_fragment_packet", false});
}

class Dpdk final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"ip_fragment", "dpdk", "rte_ipv4_fragment_packet, rte_ipv6_fragment_packet on indirect mbufs",
                                 dpdk::version()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const dpdk::Pools pools = dpdk::pools();
    const auto mtu = static_cast<std::uint16_t>(work.params.number("mtu"));
    const bool copy = work.params.is("variant", "copy");
    if (work.params.is("ip_version", "4")) {
      return copy ? session<true, Variant::kCopy>(pools, mtu) : session<true, Variant::kZeroCopy>(pools, mtu);
    }
    return copy ? session<false, Variant::kCopy>(pools, mtu) : session<false, Variant::kZeroCopy>(pools, mtu);
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Dpdk>());
}
