// lpm, engine dpdk-lpm: rte_lpm (IPv4, next hops of 24 bits) and rte_lpm6 (IPv6, next hops of 21 bits).
// requires: libdpdk >= 20.11

#include "operators/lpm/dpdk_lpm.hpp"
#include "operators/support/status.hpp"

namespace dpubench {
namespace {

using lpm::kNoRoute;
using lpm::LpmWork;

/// Adding a route to rte_lpm searches all routes of its length: 120,000 routes of a BGP table take seconds, 600,000 about a
/// minute.
constexpr std::uint64_t kFastPrefixes = 100'000;
constexpr std::uint32_t kNextHopMask = 0x00FFFFFF;

struct Single4 {
  rte_lpm* table;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::uint32_t next_hop = 0;
      b.result[i] = rte_lpm_lookup(table, lpm::destination4(b.in[i]), &next_hop) == 0 ? next_hop : kNoRoute;
    }
    accept_all(b);
  }
};

struct Bulk4 {
  rte_lpm* table;

  void operator()(Burst& b) noexcept {
    std::uint32_t addresses[kMaxBurst];
    std::uint32_t entries[kMaxBurst];
    for (std::uint32_t i = 0; i < b.n; ++i) addresses[i] = lpm::destination4(b.in[i]);
    rte_lpm_lookup_bulk(table, addresses, entries, b.n);
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = (entries[i] & RTE_LPM_LOOKUP_SUCCESS) != 0 ? entries[i] & kNextHopMask : kNoRoute;
    }
    accept_all(b);
  }
};

struct Single6 {
  rte_lpm6* table;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::uint32_t next_hop = 0;
      b.result[i] = rte_lpm6_lookup(table, lpm::destination6(b.in[i]), &next_hop) == 0 ? next_hop : kNoRoute;
    }
    accept_all(b);
  }
};

struct Bulk6 {
  rte_lpm6* table;

  void operator()(Burst& b) noexcept {
    std::uint8_t addresses[kMaxBurst][16];
    std::int32_t next_hops[kMaxBurst];
    for (std::uint32_t i = 0; i < b.n; ++i) std::memcpy(addresses[i], lpm::destination6(b.in[i]), 16);
    rte_lpm6_lookup_bulk_func(table, addresses, next_hops, b.n);
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = static_cast<std::uint32_t>(next_hops[i]);  // a miss is -1, all ones: kNoRoute
    }
    accept_all(b);
  }
};

class LpmSession final : public Session {
 public:
  explicit LpmSession(const LpmWork& work) : v6_(work.v6()), bulk_(work.bulk()), table_(work) {}

  std::unique_ptr<Lane> open() override {
    if (v6_ && bulk_) return std::make_unique<SyncLane<Bulk6>>(Bulk6{table_.v6()});
    if (v6_) return std::make_unique<SyncLane<Single6>>(Single6{table_.v6()});
    if (bulk_) return std::make_unique<SyncLane<Bulk4>>(Bulk4{table_.v4()});
    return std::make_unique<SyncLane<Single4>>(Single4{table_.v4()});
  }
  [[nodiscard]] PathInfo path() const override {
    if (v6_) return {"generic", bulk_ ? "rte_lpm6_lookup_bulk_func" : "rte_lpm6_lookup", false};
    return {"generic", bulk_ ? "rte_lpm_lookup_bulk" : "rte_lpm_lookup", false};
  }
  [[nodiscard]] std::size_t memory_bytes() const override { return table_.bytes(); }

 private:
  bool v6_;
  bool bulk_;
  lpm::LpmTable table_;
};

class DpdkLpm final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"lpm", "dpdk-lpm", "rte_lpm and rte_lpm6", dpdk::version()};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    const std::uint64_t prefixes = params.number("prefixes");
    if (params.is("ip_version", "6") || params.is("fill", "any") || (prefixes != 0 && prefixes <= kFastPrefixes)) return {};
    return "filling rte_lpm with a whole IPv4 table takes a minute, and the time grows quadratically: use fill=any, or at most " +
           std::to_string(kFastPrefixes) + " prefixes";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<LpmSession>(lpm::table_of(work));
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::DpdkLpm>());
}
