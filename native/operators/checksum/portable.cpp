// checksum, engine portable: RFC 1071 with deferred carries, RFC 1624 equation 3.

#include "operators/checksum/packet.hpp"
#include "operators/engine.hpp"
#include "packet/checksum.hpp"

namespace dpubench {
namespace {

using checksum::finish;
using checksum::load16;
using checksum::load32;
using checksum::Sum;
using wire::network16;

struct Full {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = network16(finish(checksum::add(0, b.in[i], b.in_len[i])));
      b.out_len[i] = 0;
      b.status[i] = kStatusOk;
    }
  }
};

/// The update HC' = ~(~HC + ~m + m') (RFC 1624, equation 3) for the words of an address and (TCP) a port. The complement of a
/// 32-bit word consists of the complements of its two halves.
struct Incremental {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const std::byte* const packet = b.in[i];
      const std::byte* const change = b.aux[i];
      const auto complement = [](std::uint16_t word) -> Sum { return static_cast<std::uint16_t>(~word); };
      const Sum address = Sum{~load32(packet + checksum::kSource)} + load32(change + checksum::kNewSource);
      const Sum port = complement(load16(packet + checksum::kPort)) + load16(change + checksum::kNewPort);
      const std::uint16_t ip = finish(complement(load16(packet + checksum::kIpChecksum)) + address);
      const std::uint16_t tcp = finish(complement(load16(packet + checksum::kTcpChecksum)) + address + port);
      b.result[i] = std::uint64_t{network16(ip)} << 16 | network16(tcp);
      b.out_len[i] = 0;
      b.status[i] = kStatusOk;
    }
  }
};

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"checksum", "portable", "deferred carries (RFC 1071 section 2), RFC 1624 equation 3", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    if (work.params.is("mode", "full")) return kernel_session([] { return Full{}; }, {"generic", "checksum::add", false});
    return kernel_session([] { return Incremental{}; }, {"generic", "RFC 1624 equation 3", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
