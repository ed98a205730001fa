// memcpy, engine dpdk: rte_memcpy, inlined with the distribution's compiler flags, as DPDK's applications get it.
// requires: libdpdk >= 20.11

#include <rte_memcpy.h>
#include <rte_version.h>

#include <algorithm>

#include "operators/engine.hpp"
#include "operators/support/status.hpp"

namespace dpubench {
namespace {

/// The routine that rte_memcpy.h selected when this module was compiled.
constexpr const char* kIsa =
#if defined __AVX512F__ && defined RTE_MEMCPY_AVX512
    "avx512";
#elif defined __AVX2__
    "avx2";
#elif defined __SSE2__
    "sse";
#elif defined __ARM_NEON && defined RTE_ARCH_ARM64_MEMCPY
    "neon";
#else
    "chosen by library";  // here rte_memcpy is the C library's memcpy
#endif

struct Kernel {
  void operator()(Burst& b) noexcept {
    // Use pointers that move on, not indices. The copy needs so many registers that otherwise the compiler would read the
    // addresses of the arrays again for each item.
    std::byte* const* out = b.out;
    const std::byte* const* in = b.in;
    const std::uint32_t* bytes = b.in_len;
    for (std::uint32_t left = b.n; left != 0; --left) rte_memcpy(*out++, *in++, *bytes++);
    std::copy_n(b.in_len, b.n, b.out_len);
    accept_all(b);
  }
};

class Dpdk final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"memcpy", "dpdk", "rte_memcpy", rte_version()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    return kernel_session([] { return Kernel{}; }, {kIsa, "rte_memcpy", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Dpdk>());
}
