// lpm, engine dpdk-fib-avx512: rte_fib (DIR24_8) and rte_fib6 (TRIE), 4-byte entries, AVX-512 look-up.
// requires: libdpdk >= 20.11
// arch: x86_64

#include "operators/lpm/dpdk_fib.hpp"

namespace dpubench {
namespace {

class DpdkFibAvx512 final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"lpm", "dpdk-fib-avx512", "rte_fib and rte_fib6, AVX-512 look-up", dpdk::version()};
    return info;
  }
  [[nodiscard]] std::string unavailable() const override {
    // The AVX-512 code is in the library and was compiled separately, so this module runs anywhere.
    if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
        __builtin_cpu_supports("avx512bw") != 0) {
      return {};
    }
    return "the CPU lacks AVX-512 F, DQ or BW";
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (params.is("lookup", "bulk")) return {};
    return "the vector look-up takes 8 addresses or more at a time; a single one runs the scalar code of dpdk-fib";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<lpm::FibSession>(lpm::table_of(work), RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512,
                                             RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512, "avx512");
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::DpdkFibAvx512>());
}
