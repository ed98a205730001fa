// tcp_segment, engine plain-mbuf: the work of engine portable on mbufs, as in a program that uses DPDK's buffers but not its
// segmentation library. It writes and sums one header per packet, and sums the payload where it lies.
// requires: libdpdk >= 21.11

#include "operators/engine.hpp"
#include "operators/support/dpdk/chains.hpp"
#include "operators/tcp_segment/packet.hpp"

namespace dpubench {
namespace {

using namespace segments;

template <bool V4>
struct Kernel {
  static constexpr std::size_t kHeader = (V4 ? ip4::kHeader : ip6::kHeader) + tcp::kHeader;
  std::uint16_t mtu;

  [[nodiscard]] Layout layout(const std::byte* in, std::size_t length) const noexcept {
    return tcp_segment::layout(V4, mtu, in, length);
  }

  std::uint32_t divide(dpdk::Chains& chains, const Layout& l, const Burst& b, std::uint32_t i, rte_mbuf** made) const noexcept {
    rte_mbuf* const whole = chains.hold(b.in[i], b.in_len[i], 0);
    const tcp_segment::Headers<V4> headers(b.in[i], l);
    for (std::size_t k = 0, offset = 0; k < l.packets; ++k, offset += l.piece) {
      const std::size_t payload = std::min(l.piece, l.payload - offset);
      made[k] = chains.make(whole, l.headers, l.headers + offset, payload);
      if (made[k] == nullptr) {
        rte_pktmbuf_free_bulk(made, static_cast<unsigned>(k));
        return 0;
      }
      auto* const ip = rte_pktmbuf_mtod(made[k], std::byte*);
      const checksum::Sum sum = checksum::add(headers.write(ip, k, offset, payload), b.in[i] + l.headers + offset, payload);
      checksum::store16(ip + l.ip + tcp::kChecksum, checksum::finish(sum));
    }
    return static_cast<std::uint32_t>(l.packets);
  }
};

class PlainMbuf final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"tcp_segment", "plain-mbuf", "headers rewritten as in engine portable, on mbufs",
                                 dpdk::version()};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override { return mbufs_only(params); }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return with_version(work.params, [&work]<bool V4>() -> std::unique_ptr<Session> {
      return std::make_unique<dpdk::ChainSession<Kernel<V4>>>(work, PathInfo{"as compiled", "rte_pktmbuf_attach", false});
    });
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::PlainMbuf>());
}
