// ip_fragment, engine portable: the procedures of RFC 791 section 3.2 and RFC 8200 section 4.5.

#include "operators/engine.hpp"
#include "operators/ip_fragment/packet.hpp"

namespace dpubench {
namespace {

using namespace segments;

template <bool V4, Variant V>
struct Kernel {
  std::size_t mtu;

  void operator()(Burst& b) noexcept {
    divide_each<V>(
        b, [this](const std::byte* in, std::size_t length) { return ip_fragment::layout(V4, mtu, in, length); },
        [&b](const Layout& l, std::uint32_t i) { return fragment(l, b.in[i], b.aux[i], b.out[i]); });
  }

  /// Write all records and return the end of the last one.
  static std::byte* fragment(const Layout& l, const std::byte* in, const std::byte* aux, std::byte* out) noexcept {
    for (std::size_t k = 0, offset = 0; k < l.packets; ++k, offset += l.piece) {
      const std::size_t payload = std::min(l.piece, l.payload - offset);
      const bool more = k + 1 != l.packets;
      std::byte* const ip = begin_record<V>(out, l.headers, l.ip + offset, payload);
      ip_fragment::write_headers<V4>(ip, in, aux, l, offset, payload, more);
      out = end_record<V>(ip + l.headers, in + l.ip + offset, payload);
    }
    return out;
  }
};

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"ip_fragment", "portable", "headers rewritten, payload copied or named", ""};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override { return records_only(params); }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const std::size_t mtu = work.params.number("mtu");
    return with_version_and_variant(work.params, [mtu]<bool V4, Variant V>() -> std::unique_ptr<Session> {
      return kernel_session([mtu] { return Kernel<V4, V>{mtu}; }, {"generic", "fragment", false});
    });
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
