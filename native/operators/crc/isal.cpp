// crc, engine isal: ISA-L's routines, which choose among SSE, PCLMULQDQ, AVX-512 (x86) or PMULL (Arm) when first called.
// requires: libisal >= 2.19

#include <isa-l.h>

#include "operators/crc/algorithms.hpp"
#include "operators/engine.hpp"

namespace dpubench {
namespace {

// crc32_gzip_refl inverts the register before and after. crc32_iscsi takes and returns the register without inversion. T10-DIF
// inverts nothing.
std::uint32_t iso_hdlc(const std::byte* in, std::uint32_t length) noexcept {
  return crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(in), length);
}
std::uint32_t iscsi(const std::byte* in, std::uint32_t length) noexcept {
  // The routine only reads; its prototype lacks the const.
  auto* const message = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(in));
  return ~crc32_iscsi(message, static_cast<int>(length), 0xffffffffU);
}
std::uint32_t t10_dif(const std::byte* in, std::uint32_t length) noexcept {
  return crc16_t10dif(0, reinterpret_cast<const unsigned char*>(in), length);
}

template <auto Function>
struct Kernel {
  void operator()(Burst& b) noexcept {
    const Burst here = b;  // a local copy: the library's calls cannot change it, so it stays in registers
    for (std::uint32_t i = 0; i < here.n; ++i) {
      here.result[i] = Function(here.in[i], here.in_len[i]);
      here.out_len[i] = 0;
      here.status[i] = kStatusOk;
    }
  }
};

/// Return the version that the module was compiled against. ISA-L does not report its version at run time.
std::string version() {
  return "ISA-L " + std::to_string(ISAL_MAJOR_VERSION) + '.' + std::to_string(ISAL_MINOR_VERSION) + '.' +
         std::to_string(ISAL_PATCH_VERSION);
}

class IsaL final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"crc", "isal", "crc32_gzip_refl, crc32_iscsi, crc16_t10dif", version()};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    return params.is("algorithm", "CRC-16/IBM-SDLC") ? "ISA-L's only 16-bit CRC is T10-DIF" : "";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const std::string& name = work.params.text("algorithm");
    if (name == "CRC-32/ISO-HDLC") {
      return kernel_session([] { return Kernel<iso_hdlc>{}; }, {"chosen by library", "crc32_gzip_refl", false});
    }
    if (name == "CRC-32/ISCSI") {
      return kernel_session([] { return Kernel<iscsi>{}; }, {"chosen by library", "crc32_iscsi", false});
    }
    return kernel_session([] { return Kernel<t10_dif>{}; }, {"chosen by library", "crc16_t10dif", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::IsaL>());
}
