// tcp_segment, engine portable: writes and sums one header per packet, and sums the payload while it is copied (or in place).

#include "operators/engine.hpp"
#include "operators/tcp_segment/packet.hpp"

namespace dpubench {
namespace {

using namespace segments;
using checksum::Sum;

template <bool V4, Variant V>
struct Kernel {
  std::size_t mtu;

  void operator()(Burst& b) noexcept {
    divide_each<V>(
        b, [this](const std::byte* in, std::size_t length) { return tcp_segment::layout(V4, mtu, in, length); },
        [&b](const Layout& l, std::uint32_t i) { return segment(l, b.in[i], b.out[i]); });
  }

  /// Write all records and return the end of the last one.
  static std::byte* segment(const Layout& l, const std::byte* in, std::byte* out) noexcept {
    const tcp_segment::Headers<V4> headers(in, l);
    for (std::size_t k = 0, offset = 0; k < l.packets; ++k, offset += l.piece) {
      const std::size_t payload = std::min(l.piece, l.payload - offset);
      std::byte* const ip = begin_record<V>(out, l.headers, l.headers + offset, payload);
      Sum sum = headers.write(ip, k, offset, payload);
      out = ip + l.headers;
      const std::byte* const from = in + l.headers + offset;
      if constexpr (V == Variant::kCopy) {
        sum = checksum::copy_and_add(sum, out, from, payload);
        out += payload;
      } else {
        sum = checksum::add(sum, from, payload);
      }
      checksum::store16(ip + l.ip + tcp::kChecksum, checksum::finish(sum));
    }
    return out;
  }
};

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"tcp_segment", "portable", "headers rewritten, payload summed while it is copied", ""};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override { return records_only(params); }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const std::size_t mtu = work.params.number("mtu");
    return with_version_and_variant(work.params, [mtu]<bool V4, Variant V>() -> std::unique_ptr<Session> {
      return kernel_session([mtu] { return Kernel<V4, V>{mtu}; }, {"generic", "segment", false});
    });
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
