// rte_lpm and rte_lpm6 filled from a work's routes.
#pragma once

#include <rte_lpm.h>
#include <rte_lpm6.h>

#include <memory>

#include "operators/lpm/lpm.hpp"
#include "operators/support/dpdk/dpdk.hpp"

namespace dpubench::lpm {

/// The table of a work. Exactly one of v4() and v6() exists, depending on the work's IP version.
class LpmTable {
 public:
  explicit LpmTable(const LpmWork& work) { work.v6() ? fill6(work) : fill4(work); }
  [[nodiscard]] rte_lpm* v4() const { return table4_.get(); }
  [[nodiscard]] rte_lpm6* v6() const { return table6_.get(); }
  [[nodiscard]] std::size_t bytes() const { return heap_->used_bytes(); }

 private:
  static constexpr std::uint32_t kLargest4 = 0x00FFFFFF;            // next hops of rte_lpm have 24 bits
  static constexpr std::uint32_t kLargest6 = 0x001FFFFF;            // next hops of rte_lpm6 have 21 bits
  static constexpr std::size_t kRootBytes = std::size_t{64} << 20;  // 2^24 entries of 4 bytes
  static constexpr std::size_t kExtensionBytes = 256 * 4 + 2 * 64;  // with the data that rte_lpm6 keeps beside each table
  static constexpr std::size_t kRuleBytes = 256;                    // rte_lpm6 keeps rules in a hash table
  static constexpr std::size_t kSpareBytes = std::size_t{32} << 20;

  /// Create the heap. @throws Error when a next hop of the work does not fit
  void reserve(const LpmWork& work, std::uint32_t largest, std::size_t rules, std::size_t extensions) {
    if (work.next_hops > largest + 1) {
      throw Error("the table has " + std::to_string(work.next_hops) + " next hops, and this DPDK table holds indexes up to " +
                  std::to_string(largest) + ": give fewer prefixes or next hops");
    }
    heap_ = std::make_unique<dpdk::Heap>(kRootBytes + extensions * kExtensionBytes + rules * kRuleBytes + kSpareBytes);
  }

  static void require_added(int status, const char* what) {
    if (status != 0) throw Error(std::string("DPDK: ") + what + ": " + rte_strerror(-status));
  }

  void fill4(const LpmWork& work) {
    const auto routes = without_default(work.routes4);
    rte_lpm_config config{};
    config.max_rules = static_cast<std::uint32_t>(routes.size()) + 1;
    config.number_tbl8s = extension_tables(routes) + 1;
    reserve(work, kLargest4, config.max_rules, config.number_tbl8s);
    table4_.reset(rte_lpm_create(heap_->name(), heap_->socket(), &config));
    dpdk::require(table4_ != nullptr, "rte_lpm_create");
    for (const Prefix4& r : routes) require_added(rte_lpm_add(table4_.get(), r.address, r.length, r.next_hop), "rte_lpm_add");
  }

  void fill6(const LpmWork& work) {
    const auto routes = without_default(work.routes6);
    rte_lpm6_config config{};
    config.max_rules = static_cast<std::uint32_t>(routes.size()) + 1;
    config.number_tbl8s = extension_tables(routes) + 1;
    reserve(work, kLargest6, config.max_rules, config.number_tbl8s);
    table6_.reset(rte_lpm6_create(heap_->name(), heap_->socket(), &config));
    dpdk::require(table6_ != nullptr, "rte_lpm6_create");
    for (const Prefix6& r : routes) {
      require_added(rte_lpm6_add(table6_.get(), r.address.data(), r.length, r.next_hop), "rte_lpm6_add");
    }
  }

  std::unique_ptr<dpdk::Heap> heap_;  // declared before the tables, because it must outlive them
  std::unique_ptr<rte_lpm, decltype(&rte_lpm_free)> table4_{nullptr, &rte_lpm_free};
  std::unique_ptr<rte_lpm6, decltype(&rte_lpm6_free)> table6_{nullptr, &rte_lpm6_free};
};

}  // namespace dpubench::lpm
