// lpm, engine dpdk-lpm: rte_lpm (IPv4, next hops of 24 bits) and rte_lpm6 (IPv6, next hops of 21 bits).
// requires: libdpdk >= 20.11

#include <rte_lpm.h>
#include <rte_lpm6.h>

#include <memory>

#include "operators/lpm/lpm.hpp"
#include "operators/support/dpdk.hpp"

namespace dpubench {
namespace {

using lpm::kNoRoute;
using lpm::LpmWork;

/// Adding a route to rte_lpm searches all routes of its length: 120,000 of a BGP table take seconds, 600,000 about a minute.
constexpr std::uint64_t kFastPrefixes = 100'000;
constexpr std::uint32_t kNextHopMask = 0x00FFFFFF;
constexpr std::uint32_t kLargest4 = 0x00FFFFFF;
constexpr std::uint32_t kLargest6 = 0x001FFFFF;
constexpr std::size_t kSpareBytes = std::size_t{32} << 20;  // bookkeeping of the heap and of the table

using Table4 = std::unique_ptr<rte_lpm, decltype(&rte_lpm_free)>;
using Table6 = std::unique_ptr<rte_lpm6, decltype(&rte_lpm6_free)>;

struct Single4 {
  rte_lpm* table;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::uint32_t next_hop = 0;
      b.result[i] = rte_lpm_lookup(table, lpm::destination4(b.in[i]), &next_hop) == 0 ? next_hop : kNoRoute;
      b.status[i] = kStatusOk;
    }
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
      b.status[i] = kStatusOk;
    }
  }
};

struct Single6 {
  rte_lpm6* table;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::uint32_t next_hop = 0;
      b.result[i] = rte_lpm6_lookup(table, lpm::destination6(b.in[i]), &next_hop) == 0 ? next_hop : kNoRoute;
      b.status[i] = kStatusOk;
    }
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
      b.status[i] = kStatusOk;
    }
  }
};

void require_range(const LpmWork& work, std::uint32_t largest) {
  if (work.next_hops == 0 || work.next_hops - 1 <= largest) return;
  throw Error("the table has " + std::to_string(work.next_hops) + " next hops, this DPDK table holds indexes up to " +
              std::to_string(largest) + ": give fewer prefixes or next hops");
}

class Session4 final : public Session {
 public:
  explicit Session4(const LpmWork& work) : bulk_(work.bulk()), extensions_(lpm::extension_tables(work.routes4)) {
    require_range(work, kLargest4);
    const auto routes = lpm::without_default(work.routes4);
    rte_lpm_config config{};
    config.max_rules = static_cast<std::uint32_t>(routes.size()) + 1;
    config.number_tbl8s = extensions_ + 1;
    heap_ = std::make_unique<dpdk::Heap>(sizeof(rte_lpm) + config.number_tbl8s * std::size_t{1024} +
                                         config.max_rules * std::size_t{64} + kSpareBytes);
    table_.reset(rte_lpm_create(heap_->name(), heap_->socket(), &config));
    dpdk::require(table_ != nullptr, "rte_lpm_create");
    for (const auto& route : routes) {
      const int status = rte_lpm_add(table_.get(), route.address, route.length, route.next_hop);
      if (status != 0) throw Error(std::string("DPDK: rte_lpm_add: ") + rte_strerror(-status));
    }
  }
  std::unique_ptr<Lane> open() override {
    if (bulk_) return std::make_unique<SyncLane<Bulk4>>(Bulk4{table_.get()});
    return std::make_unique<SyncLane<Single4>>(Single4{table_.get()});
  }
  [[nodiscard]] PathInfo path() const override { return {"generic", bulk_ ? "rte_lpm_lookup_bulk" : "rte_lpm_lookup", false}; }
  [[nodiscard]] std::size_t memory_bytes() const override { return heap_->used_bytes(); }

 private:
  bool bulk_;
  std::uint32_t extensions_;
  std::unique_ptr<dpdk::Heap> heap_;  // before the table: it must outlive it
  Table4 table_{nullptr, &rte_lpm_free};
};

class Session6 final : public Session {
 public:
  explicit Session6(const LpmWork& work) : bulk_(work.bulk()), extensions_(lpm::extension_tables(work.routes6)) {
    require_range(work, kLargest6);
    const auto routes = lpm::without_default(work.routes6);
    rte_lpm6_config config{};
    config.max_rules = static_cast<std::uint32_t>(routes.size()) + 1;
    config.number_tbl8s = extensions_ + 1;
    constexpr std::size_t kRootBytes = std::size_t{64} << 20;
    heap_ = std::make_unique<dpdk::Heap>(kRootBytes + config.number_tbl8s * std::size_t{1200} +
                                         config.max_rules * std::size_t{256} + kSpareBytes);
    table_.reset(rte_lpm6_create(heap_->name(), heap_->socket(), &config));
    dpdk::require(table_ != nullptr, "rte_lpm6_create");
    for (const auto& route : routes) {
      const int status = rte_lpm6_add(table_.get(), route.address.data(), route.length, route.next_hop);
      if (status != 0) throw Error(std::string("DPDK: rte_lpm6_add: ") + rte_strerror(-status));
    }
  }
  std::unique_ptr<Lane> open() override {
    if (bulk_) return std::make_unique<SyncLane<Bulk6>>(Bulk6{table_.get()});
    return std::make_unique<SyncLane<Single6>>(Single6{table_.get()});
  }
  [[nodiscard]] PathInfo path() const override {
    return {"generic", bulk_ ? "rte_lpm6_lookup_bulk_func" : "rte_lpm6_lookup", false};
  }
  [[nodiscard]] std::size_t memory_bytes() const override { return heap_->used_bytes(); }

 private:
  bool bulk_;
  std::uint32_t extensions_;
  std::unique_ptr<dpdk::Heap> heap_;
  Table6 table_{nullptr, &rte_lpm6_free};
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
    return "filling rte_lpm with a whole IPv4 table takes a minute and grows quadratically: ask for it with fill=any, or for at "
           "most " +
           std::to_string(kFastPrefixes) + " prefixes";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const LpmWork& table = lpm::table_of(work);
    if (table.v6()) return std::make_unique<Session6>(table);
    return std::make_unique<Session4>(table);
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::DpdkLpm>());
}
