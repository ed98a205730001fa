// tcp_segment, engine portable: one header per packet written and summed, the payload summed while it is copied (or in place).

#include <cstring>

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

  /// Writes all records; returns the end of the last.
  static std::byte* segment(const Layout& l, const std::byte* in, std::byte* out) noexcept {
    constexpr std::size_t kAddresses = V4 ? ip4::kAddresses : ip6::kAddresses;
    constexpr std::size_t kAddressBytes = V4 ? ip4::kAddressBytes : ip6::kAddressBytes;
    // Pseudo header without the length (RFC 9293 section 3.1, RFC 8200 section 8.1).
    const Sum pseudo =
        checksum::add(0, in + kAddresses, kAddressBytes) + checksum::network16(std::to_integer<unsigned>(tcp::kProtocol));
    const std::uint32_t identification = V4 ? get16(in + ip4::kIdentification) : 0;
    const std::uint32_t sequence = get32(in + l.ip + tcp::kSequence);
    for (std::size_t k = 0, offset = 0; k < l.packets; ++k, offset += l.piece) {
      const std::size_t payload = std::min(l.piece, l.payload - offset);
      const std::size_t segment_length = l.headers - l.ip + payload;
      std::byte* const ip = begin_record<V>(out, l.headers, l.headers + offset, payload);
      std::memcpy(ip, in, l.headers);
      if constexpr (V4) {
        put16(ip + ip4::kTotalLength, static_cast<std::uint32_t>(l.headers + payload));
        put16(ip + ip4::kIdentification, identification + static_cast<std::uint32_t>(k));
        put16(ip + ip4::kChecksum, 0);
        checksum::store16(ip + ip4::kChecksum, checksum::finish(checksum::add(0, ip, ip4::kHeader)));
      } else {
        put16(ip + ip6::kPayloadLength, static_cast<std::uint32_t>(segment_length));
      }
      std::byte* const header = ip + l.ip;
      put32(header + tcp::kSequence, sequence + static_cast<std::uint32_t>(offset));
      header[tcp::kFlags] = tcp_segment::flags_of(header[tcp::kFlags], k, l.packets);
      put16(header + tcp::kChecksum, 0);
      Sum sum = checksum::add(pseudo + checksum::network16(static_cast<std::uint32_t>(segment_length)), header, l.headers - l.ip);
      out = ip + l.headers;
      const std::byte* const from = in + l.headers + offset;
      if constexpr (V == Variant::kCopy) {
        sum = checksum::copy_and_add(sum, out, from, payload);
        out += payload;
      } else {
        sum = checksum::add(sum, from, payload);
      }
      checksum::store16(header + tcp::kChecksum, checksum::finish(sum));
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
