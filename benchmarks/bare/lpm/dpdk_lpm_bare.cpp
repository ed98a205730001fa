// lpm, bare loop of engine dpdk-lpm: gather the addresses, look them up.
// requires: libdpdk >= 20.11

#include "../support/timed_loop.hpp"
#include "operators/lpm/dpdk_lpm.hpp"

namespace dpubench {
namespace {

void single4(rte_lpm* table, Burst& b) noexcept {
  for (std::uint32_t i = 0; i < b.n; ++i) {
    std::uint32_t network = 0;
    std::memcpy(&network, b.in[i] + 16, 4);
    std::uint32_t next_hop = 0;
    b.result[i] = rte_lpm_lookup(table, __builtin_bswap32(network), &next_hop) != 0 ? lpm::kNoRoute : next_hop;
  }
}

void bulk4(rte_lpm* table, Burst& b) noexcept {
  std::uint32_t addresses[kMaxBurst];
  std::uint32_t found[kMaxBurst];
  for (std::uint32_t i = 0; i < b.n; ++i) {
    std::uint32_t network = 0;
    std::memcpy(&network, b.in[i] + 16, 4);
    addresses[i] = __builtin_bswap32(network);
  }
  rte_lpm_lookup_bulk(table, addresses, found, b.n);
  for (std::uint32_t i = 0; i < b.n; ++i) {
    b.result[i] = (found[i] & RTE_LPM_LOOKUP_SUCCESS) == 0 ? lpm::kNoRoute : found[i] & 0xFFFFFFU;
  }
}

void single6(rte_lpm6* table, Burst& b) noexcept {
  for (std::uint32_t i = 0; i < b.n; ++i) {
    std::uint32_t next_hop = 0;
    const auto* address = reinterpret_cast<const std::uint8_t*>(b.in[i] + 24);
    b.result[i] = rte_lpm6_lookup(table, address, &next_hop) != 0 ? lpm::kNoRoute : next_hop;
  }
}

void bulk6(rte_lpm6* table, Burst& b) noexcept {
  std::uint8_t addresses[kMaxBurst][16];
  std::int32_t found[kMaxBurst];
  for (std::uint32_t i = 0; i < b.n; ++i) std::memcpy(addresses[i], b.in[i] + 24, 16);
  rte_lpm6_lookup_bulk_func(table, addresses, found, b.n);
  for (std::uint32_t i = 0; i < b.n; ++i) b.result[i] = static_cast<std::uint32_t>(found[i]);
}

std::unique_ptr<Session> prepare_look_up(const lpm::LpmWork& work) {
  const auto make = [bulk = work.bulk(), table = std::make_shared<lpm::LpmTable>(work)] {
    return [bulk, table = table.get()](Burst& b) noexcept {
      if (table->v6() != nullptr) {
        bulk ? bulk6(table->v6(), b) : single6(table->v6(), b);
      } else {
        bulk ? bulk4(table->v4(), b) : single4(table->v4(), b);
      }
      std::memset(b.status, kStatusOk, b.n);
    };
  };
  return bare::timed_session(make, {"", "rte_lpm", false});
}

class Bare final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"lpm", "dpdk-lpm-bare", "bare loop of rte_lpm and rte_lpm6", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override { return prepare_look_up(lpm::table_of(work)); }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Bare>());
}
