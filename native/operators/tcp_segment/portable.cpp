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
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const tcp_segment::Layout l = tcp_segment::layout(V4, mtu, b.in[i], b.in_len[i]);
      const bool fits = l.packets != 0 && record_bytes(V, l.packets, l.header, l.payload) <= b.out_room[i];
      b.status[i] = fits ? kStatusOk : kStatusRejected;
      b.result[i] = fits ? l.packets : 0;
      b.out_len[i] = fits ? static_cast<std::uint32_t>(segment(l, b.in[i], b.out[i]) - b.out[i]) : 0;
    }
  }

  /// Writes all records; returns the end of the last.
  static std::byte* segment(const tcp_segment::Layout& l, const std::byte* in, std::byte* out) noexcept {
    constexpr std::size_t kAddresses = V4 ? ip4::kAddresses : ip6::kAddresses;
    constexpr std::size_t kAddressBytes = V4 ? ip4::kAddressBytes : ip6::kAddressBytes;
    // Pseudo header without the length (RFC 9293 section 3.1, RFC 8200 section 8.1).
    const Sum pseudo =
        checksum::add(0, in + kAddresses, kAddressBytes) + checksum::network16(std::to_integer<unsigned>(tcp::kProtocol));
    const std::uint32_t identification = V4 ? get16(in + ip4::kIdentification) : 0;
    const std::uint32_t sequence = get32(in + l.ip + tcp::kSequence);
    for (std::size_t k = 0, offset = 0; k < l.packets; ++k, offset += l.mss) {
      const std::size_t payload = std::min(l.mss, l.payload - offset);
      const std::size_t segment_length = l.header - l.ip + payload;
      std::byte* const ip = begin_record<V>(out, l.header, l.header + offset, payload);
      std::memcpy(ip, in, l.header);
      if constexpr (V4) {
        put16(ip + ip4::kTotalLength, static_cast<std::uint32_t>(l.header + payload));
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
      Sum sum = checksum::add(pseudo + checksum::network16(static_cast<std::uint32_t>(segment_length)), header, l.header - l.ip);
      out = ip + l.header;
      const std::byte* const from = in + l.header + offset;
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

template <bool V4, Variant V>
std::unique_ptr<Session> session(std::size_t mtu) {
  return kernel_session([mtu] { return Kernel<V4, V>{mtu}; }, {"generic", "segment", false});
}

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"tcp_segment", "portable", "headers rewritten, payload summed while it is copied", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const std::size_t mtu = work.params.number("mtu");
    const bool copy = work.params.is("variant", "copy");
    if (work.params.is("ip_version", "4")) {
      return copy ? session<true, Variant::kCopy>(mtu) : session<true, Variant::kZeroCopy>(mtu);
    }
    return copy ? session<false, Variant::kCopy>(mtu) : session<false, Variant::kZeroCopy>(mtu);
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
