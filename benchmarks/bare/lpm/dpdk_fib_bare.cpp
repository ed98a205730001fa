// lpm, bare loops of engines dpdk-fib and dpdk-fib-avx512: gather the addresses, one rte_fib look-up.
// requires: libdpdk >= 20.11

#include "../support/timed_loop.hpp"
#include "operators/lpm/dpdk_fib.hpp"

namespace dpubench {
namespace {

void look_up4(rte_fib* fib, Burst& b, std::uint32_t step) noexcept {
  std::uint32_t addresses[kMaxBurst];
  for (std::uint32_t at = 0; at < b.n; at += step) {
    for (std::uint32_t i = 0; i < step; ++i) {
      std::uint32_t network = 0;
      std::memcpy(&network, b.in[at + i] + 16, 4);
      addresses[i] = __builtin_bswap32(network);
    }
    rte_fib_lookup_bulk(fib, addresses, b.result + at, static_cast<int>(step));
  }
}

void look_up6(rte_fib6* fib, Burst& b, std::uint32_t step) noexcept {
  std::uint8_t addresses[kMaxBurst][16];
  for (std::uint32_t at = 0; at < b.n; at += step) {
    for (std::uint32_t i = 0; i < step; ++i) std::memcpy(addresses[i], b.in[at + i] + 24, 16);
    rte_fib6_lookup_bulk(fib, addresses, b.result + at, static_cast<int>(step));
  }
}

std::unique_ptr<Session> prepare_look_up(const lpm::LpmWork& work, rte_fib_lookup_type look4, rte_fib6_lookup_type look6) {
  const auto make = [bulk = work.bulk(), table = std::make_shared<lpm::FibTable>(work, look4, look6)] {
    return [bulk, table = table.get()](Burst& b) noexcept {
      const std::uint32_t step = bulk ? b.n : 1;
      table->v6() != nullptr ? look_up6(table->v6(), b, step) : look_up4(table->v4(), b, step);
      // Entries hold the next hop plus one; no route is 0.
      for (std::uint32_t i = 0; i < b.n; ++i) b.result[i] = static_cast<std::uint32_t>(b.result[i] - 1);
      std::memset(b.status, kStatusOk, b.n);
    };
  };
  return bare::timed_session(make, {"", "rte_fib_lookup_bulk", false});
}

class Scalar final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"lpm", "dpdk-fib-bare", "bare loop of rte_fib_lookup_bulk, scalar", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return prepare_look_up(lpm::table_of(work), RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO, RTE_FIB6_LOOKUP_TRIE_SCALAR);
  }
};

class Vector final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"lpm", "dpdk-fib-avx512-bare", "bare loop of rte_fib_lookup_bulk, AVX-512", ""};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    return params.is("lookup", "bulk") ? "" : "the vector look-up is a bulk one";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    // Where the CPU has no AVX-512, rte_fib_select_lookup refuses and so does the table.
    return prepare_look_up(lpm::table_of(work), RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512, RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512);
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Scalar>());
  sink.add(std::make_unique<dpubench::Vector>());
}
