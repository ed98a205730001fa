// lpm, engine dpdk-fib: rte_fib (DIR24_8) and rte_fib6 (TRIE), 4-byte entries, scalar look-up.
// requires: libdpdk >= 20.11

#include "operators/lpm/dpdk_fib.hpp"

namespace dpubench {
namespace {

class DpdkFib final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"lpm", "dpdk-fib", "rte_fib and rte_fib6, scalar look-up", dpdk::version()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<lpm::FibSession>(lpm::table_of(work), RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO,
                                             RTE_FIB6_LOOKUP_TRIE_SCALAR, "generic");
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::DpdkFib>());
}
