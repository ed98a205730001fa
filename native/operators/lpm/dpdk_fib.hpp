// rte_fib and rte_fib6 with 4-byte entries, for the engines dpdk-fib (scalar look-up) and dpdk-fib-avx512.
#pragma once

#include <rte_fib.h>
#include <rte_fib6.h>

#include <memory>

#include "operators/lpm/lpm.hpp"
#include "operators/support/dpdk/dpdk.hpp"
#include "operators/support/status.hpp"

namespace dpubench::lpm {

using Fib4 = std::unique_ptr<rte_fib, decltype(&rte_fib_free)>;
using Fib6 = std::unique_ptr<rte_fib6, decltype(&rte_fib6_free)>;

// Entries hold the next hop plus one, and the FIB's default is 0. So one subtraction yields next hops and kNoRoute alike.

struct FibBulk4 {
  rte_fib* fib;

  void operator()(Burst& b) noexcept {
    std::uint32_t addresses[kMaxBurst];
    for (std::uint32_t i = 0; i < b.n; ++i) addresses[i] = destination4(b.in[i]);
    rte_fib_lookup_bulk(fib, addresses, b.result, static_cast<int>(b.n));
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = static_cast<std::uint32_t>(b.result[i] - 1);
    }
    accept_all(b);
  }
};

/// Look-ups one at a time. rte_fib has only bulk look-ups, so each is a bulk of one.
struct FibSingle4 {
  rte_fib* fib;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::uint32_t address = destination4(b.in[i]);
      rte_fib_lookup_bulk(fib, &address, &b.result[i], 1);
    }
    for (std::uint32_t i = 0; i < b.n; ++i) b.result[i] = static_cast<std::uint32_t>(b.result[i] - 1);
    accept_all(b);
  }
};

struct FibBulk6 {
  rte_fib6* fib;

  void operator()(Burst& b) noexcept {
    std::uint8_t addresses[kMaxBurst][16];
    for (std::uint32_t i = 0; i < b.n; ++i) std::memcpy(addresses[i], destination6(b.in[i]), 16);
    rte_fib6_lookup_bulk(fib, addresses, b.result, static_cast<int>(b.n));
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = static_cast<std::uint32_t>(b.result[i] - 1);
    }
    accept_all(b);
  }
};

struct FibSingle6 {
  rte_fib6* fib;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      // The function only reads the address, although its parameter is not const.
      auto* address = reinterpret_cast<std::uint8_t(*)[16]>(const_cast<std::uint8_t*>(destination6(b.in[i])));
      rte_fib6_lookup_bulk(fib, address, &b.result[i], 1);
    }
    for (std::uint32_t i = 0; i < b.n; ++i) b.result[i] = static_cast<std::uint32_t>(b.result[i] - 1);
    accept_all(b);
  }
};

/// A filled FIB of the work's IP version. Its tables, and the RIB that fills it, lie on their own heap.
class FibTable {
 public:
  /// @param look4, look6  the look-up function to select @throws Error
  FibTable(const LpmWork& work, rte_fib_lookup_type look4, rte_fib6_lookup_type look6) {
    work.v6() ? fill6(work, look6) : fill4(work, look4);
  }
  [[nodiscard]] rte_fib* v4() const { return fib4_.get(); }
  [[nodiscard]] rte_fib6* v6() const { return fib6_.get(); }
  [[nodiscard]] std::size_t bytes() const { return heap_->used_bytes(); }

 private:
  static constexpr std::size_t kRootBytes = std::size_t{64} << 20;  // 2^24 entries of 4 bytes
  static constexpr std::size_t kNodeBytes = 256;                    // a RIB node and the overhead of its memory pool, rounded up
  static constexpr std::size_t kSpareBytes = std::size_t{64} << 20;

  /// Create the heap. A RIB holds up to twice as many nodes as routes.
  void reserve(std::size_t routes, std::size_t extensions) {
    heap_ = std::make_unique<dpdk::Heap>(kRootBytes + extensions * 1040 + routes * 2 * kNodeBytes + kSpareBytes);
  }

  static void require_added(int status, const char* what) {
    if (status != 0) throw Error(std::string("DPDK: ") + what + ": " + rte_strerror(-status));
  }

  void fill4(const LpmWork& work, rte_fib_lookup_type look) {
    const std::uint32_t extensions = extension_tables(work.routes4) + 2;
    reserve(work.routes4.size(), extensions);
    rte_fib_conf conf{};
    conf.type = RTE_FIB_DIR24_8;
    conf.max_routes = static_cast<int>(work.routes4.size()) + 1;
    conf.dir24_8.nh_sz = RTE_FIB_DIR24_8_4B;
    conf.dir24_8.num_tbl8 = extensions;
    fib4_.reset(rte_fib_create(heap_->name(), heap_->socket(), &conf));
    dpdk::require(fib4_ != nullptr, "rte_fib_create");
    for (const Prefix4& r : work.routes4) {
      require_added(rte_fib_add(fib4_.get(), r.address, r.length, std::uint64_t{r.next_hop} + 1), "rte_fib_add");
    }
    require_added(rte_fib_select_lookup(fib4_.get(), look), "rte_fib_select_lookup");
  }

  void fill6(const LpmWork& work, rte_fib6_lookup_type look) {
    // The trie shares tables between routes, but it reserves them for each route separately and refuses a route when none is
    // left.
    std::uint32_t extensions = 2;
    for (const Prefix6& r : work.routes6) extensions += r.length <= 24 ? 0U : (r.length - 17U) / 8U;
    reserve(work.routes6.size(), extensions);
    rte_fib6_conf conf{};
    conf.type = RTE_FIB6_TRIE;
    conf.max_routes = static_cast<int>(work.routes6.size()) + 1;
    conf.trie.nh_sz = RTE_FIB6_TRIE_4B;
    conf.trie.num_tbl8 = extensions;
    fib6_.reset(rte_fib6_create(heap_->name(), heap_->socket(), &conf));
    dpdk::require(fib6_ != nullptr, "rte_fib6_create");
    for (const Prefix6& r : work.routes6) {
      require_added(rte_fib6_add(fib6_.get(), r.address.data(), r.length, std::uint64_t{r.next_hop} + 1), "rte_fib6_add");
    }
    require_added(rte_fib6_select_lookup(fib6_.get(), look), "rte_fib6_select_lookup");
  }

  std::unique_ptr<dpdk::Heap> heap_;  // declared before the tables, because it must outlive them
  Fib4 fib4_{nullptr, &rte_fib_free};
  Fib6 fib6_{nullptr, &rte_fib6_free};
};

class FibSession final : public Session {
 public:
  /// @param isa  name of the look-up function in a result
  FibSession(const LpmWork& work, rte_fib_lookup_type look4, rte_fib6_lookup_type look6, std::string isa)
      : v6_(work.v6()), bulk_(work.bulk()), isa_(std::move(isa)), table_(work, look4, look6) {}

  std::unique_ptr<Lane> open() override {
    if (v6_ && bulk_) return std::make_unique<SyncLane<FibBulk6>>(FibBulk6{table_.v6()});
    if (v6_) return std::make_unique<SyncLane<FibSingle6>>(FibSingle6{table_.v6()});
    if (bulk_) return std::make_unique<SyncLane<FibBulk4>>(FibBulk4{table_.v4()});
    return std::make_unique<SyncLane<FibSingle4>>(FibSingle4{table_.v4()});
  }
  [[nodiscard]] PathInfo path() const override {
    return {isa_, v6_ ? "rte_fib6_lookup_bulk, TRIE 4B" : "rte_fib_lookup_bulk, DIR24_8 4B", false};
  }
  [[nodiscard]] std::size_t memory_bytes() const override { return table_.bytes(); }

 private:
  bool v6_;
  bool bulk_;
  std::string isa_;
  FibTable table_;
};

}  // namespace dpubench::lpm
