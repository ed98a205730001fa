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
  static constexpr std::size_t kHeaders = V4 ? ip4::kHeader : ip6::kHeader + ip6::kFragmentHeader;  // of a fragment

  dpdk::Pools pools;
  std::uint16_t mtu;
  dpdk::Carrier carrier;
  std::vector<rte_mbuf*> packets;

  Kernel(const dpdk::Pools& shared, std::uint16_t link_mtu)
      : pools(shared),
        mtu(link_mtu),
        carrier(shared.direct),
        packets(65536 / (link_mtu - kHeaders - ip_fragment::kUnit + 1) + 2) {}

  void operator()(Burst& b) noexcept {
    divide_each<V>(
        b, [this](const std::byte* in, std::size_t length) { return ip_fragment::layout(V4, mtu, in, length); },
        [this, &b](const Layout& l, std::uint32_t i) {
          return l.packets == 1 ? pass(l, b.in[i], b.out[i]) : fragment(b.in[i], b.in_len[i], b.aux[i], b.out[i]);
        });
  }

 private:
  /// A datagram that fits is not given to the library, which would make a single fragment of it.
  static std::byte* pass(const Layout& l, const std::byte* in, std::byte* out) noexcept {
    std::byte* const header = begin_record<V>(out, l.headers, l.headers, l.payload);
    std::memcpy(header, in, l.headers);
    if constexpr (V4) {
      auto* const ip = reinterpret_cast<rte_ipv4_hdr*>(header);
      ip->hdr_checksum = 0;
      ip->hdr_checksum = rte_ipv4_cksum(ip);
    }
    return end_record<V>(header + l.headers, in + l.headers, l.payload);
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
      out = dpdk::write_record<V, kHeaders>(out, packets[k], in);
    }
    rte_pktmbuf_free_bulk(packets.data(), count);
    return out;
  }
};

class Dpdk final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"ip_fragment", "dpdk", "rte_ipv4_fragment_packet, rte_ipv6_fragment_packet on indirect mbufs",
                                 dpdk::version()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return with_version_and_variant(work.params, [&work]<bool V4, Variant V>() {
      return dpdk::dividing_session<Kernel<V4, V>>(
          work, {"as compiled", V4 ? "rte_ipv4_fragment_packet" : "rte_ipv6_fragment_packet", false});
    });
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Dpdk>());
}
