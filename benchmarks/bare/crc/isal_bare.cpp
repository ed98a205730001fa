// crc, bare loop over ISA-L: what engine isal is compared with.
// requires: libisal >= 2.19

#include <isa-l.h>

#include "../support/timed_loop.hpp"

namespace dpubench {
namespace {

struct Gzip {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(b.in[i]), b.in_len[i]);
      b.out_len[i] = 0;
      b.status[i] = kStatusOk;
    }
  }
};
struct Iscsi {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      auto* message = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(b.in[i]));
      b.result[i] = ~crc32_iscsi(message, static_cast<int>(b.in_len[i]), ~0U);
      b.out_len[i] = 0;
      b.status[i] = kStatusOk;
    }
  }
};
struct T10 {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = crc16_t10dif(0, reinterpret_cast<const unsigned char*>(b.in[i]), b.in_len[i]);
      b.out_len[i] = 0;
      b.status[i] = kStatusOk;
    }
  }
};

class Bare final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"crc", "isal-bare", "bare loop", ""};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    return params.is("algorithm", "CRC-16/IBM-SDLC") ? "as engine isal" : "";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    if (work.params.is("algorithm", "CRC-32/ISO-HDLC")) return bare::timed_session([] { return Gzip{}; }, {});
    if (work.params.is("algorithm", "CRC-32/ISCSI")) return bare::timed_session([] { return Iscsi{}; }, {});
    return bare::timed_session([] { return T10{}; }, {});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Bare>());
}
