// flow-table, engine dpdk-hash: rte_hash, whose positions index the counters.
#include <rte_hash.h>
#include <rte_hash_crc.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "datapath/workloads/flow-table/engine.hpp"
#include "datapath/workloads/flow-table/indexed_table.hpp"
#include "datapath/workloads/flow-table/oracle.hpp"
#include "datapath/workloads/flow-table/own_tables.hpp"
#include "operators/support/dpdk/dpdk.hpp"

namespace dpubench::datapath::flow_table {
namespace {

/// Return the entries to ask rte_hash for. It holds a key in one of two buckets of 8 and moves others to make room. Without
/// extendable buckets that fails near 95 % of its entries. At 80 % it does not.
constexpr std::uint64_t entries_for(std::uint32_t flows) {
  return std::max<std::uint64_t>(std::uint64_t{flows} * 5 / 4, 64);
}

/// Return the bytes that rte_hash allocates, with room for its rounding up to powers of two.
constexpr std::size_t heap_bytes_for(std::uint32_t flows) {
  constexpr std::size_t kKeySlotBytes = 64;  // pointer, key of 48 bytes, rounded up
  constexpr std::size_t kBucketBytes = 64;   // of 8 entries
  constexpr std::size_t kFreeBytes = 4;
  std::size_t entries = 64;
  while (entries < entries_for(flows)) entries *= 2;
  return entries * (kKeySlotBytes + kBucketBytes / 8 + 2 * kFreeBytes) + (std::size_t{4} << 20);
}

class HashIndex {
 public:
  HashIndex(std::uint32_t flows, std::uint64_t seed)
      : heap_(std::make_unique<dpdk::Heap>(heap_bytes_for(flows))), counters_(entries_for(flows) + 1, "flow counters") {
    rte_hash_parameters parameters{};
    parameters.name = heap_->name();
    parameters.entries = static_cast<std::uint32_t>(entries_for(flows));
    parameters.key_len = sizeof(Key);
    parameters.hash_func = rte_hash_crc;
    parameters.hash_func_init_val = static_cast<std::uint32_t>(seed);
    parameters.socket_id = heap_->socket();
    hash_.reset(rte_hash_create(&parameters));
    dpdk::require(hash_ != nullptr, "rte_hash_create of " + std::to_string(parameters.entries) + " entries");
    counters_.zero();
  }

  void find(std::span<const Key> keys, std::uint32_t* places) noexcept {
    std::array<const void*, kMaxPacketBurst> pointers;
    for (std::size_t i = 0; i < keys.size(); ++i) pointers[i] = &keys[i];
    for (std::size_t done = 0; done < keys.size(); done += RTE_HASH_LOOKUP_BULK_MAX) {
      const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(keys.size() - done, RTE_HASH_LOOKUP_BULK_MAX));
      std::array<std::int32_t, RTE_HASH_LOOKUP_BULK_MAX> positions;
      rte_hash_lookup_bulk(hash_.get(), pointers.data() + done, n, positions.data());
      for (std::uint32_t i = 0; i < n; ++i) {
        places[done + i] = positions[i] < 0 ? kNowhere : static_cast<std::uint32_t>(positions[i]);
        if (positions[i] >= 0) __builtin_prefetch(&counters_[places[done + i]], 1);
      }
    }
  }

  std::uint32_t find_one(const Key& key) noexcept {
    const std::int32_t position = rte_hash_lookup(hash_.get(), &key);
    return position < 0 ? kNowhere : static_cast<std::uint32_t>(position);
  }

  std::uint32_t insert(const Key& key) noexcept {
    const std::int32_t position = rte_hash_add_key(hash_.get(), &key);
    return position < 0 ? kNowhere : static_cast<std::uint32_t>(position);
  }

  void erase(std::uint32_t place) noexcept {
    void* key = nullptr;
    if (rte_hash_get_key_with_position(hash_.get(), static_cast<std::int32_t>(place), &key) == 0) {
      Key erased;  // a copy: in rte_hash the key is not aligned, and rte_hash_del_key clears it
      std::memcpy(&erased, key, sizeof erased);
      rte_hash_del_key(hash_.get(), &erased);
    }
    counters_[place] = {};
  }

  CounterRef counters(std::uint32_t place) noexcept { return {counters_[place].packets, counters_[place].bytes}; }

  [[nodiscard]] FlowRecord record(std::uint32_t place) const noexcept {
    FlowRecord record{};
    void* key = nullptr;
    const Counters& counters = counters_[place];
    if (counters.packets == 0 || rte_hash_get_key_with_position(hash_.get(), static_cast<std::int32_t>(place), &key) != 0)
      return record;
    std::memcpy(&record.key, key, sizeof(Key));
    record.packets = counters.packets;
    record.bytes = counters.bytes;
    return record;
  }

  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(counters_.size()); }
  [[nodiscard]] std::size_t memory_bytes() const { return heap_->used_bytes() + counters_.bytes(); }

  void clear() {
    rte_hash_reset(hash_.get());
    counters_.zero();
  }

 private:
  struct Counters {
    std::uint64_t packets;
    std::uint64_t bytes;
  };
  struct Free {
    void operator()(rte_hash* hash) const { rte_hash_free(hash); }
  };
  std::unique_ptr<dpdk::Heap> heap_;
  std::unique_ptr<rte_hash, Free> hash_;
  Pages<Counters> counters_;
};

std::unique_ptr<FlowTable> make_table(const Limits& limits, std::uint64_t seed) {
  return std::make_unique<IndexedTable<HashIndex>>(HashIndex(limits.flows, seed), limits);
}

class DpdkHash final : public TableEngine {
 public:
  [[nodiscard]] const char* name() const override { return "dpdk-hash"; }
  [[nodiscard]] const char* summary() const override { return "rte_hash_lookup_bulk, positions index the counters"; }
  [[nodiscard]] std::string verify(const TableSetting& setting, const Frames& frames) const override {
    return verify_tables([&](const Limits& limits) { return make_table(limits, setting.seed); }, frames, setting.seed);
  }
  [[nodiscard]] std::unique_ptr<TableSession> open_tables(const TableSetting& setting) const override {
    return std::make_unique<OwnTables>(setting, PathInfo{"chosen by library", "rte_hash_lookup_bulk, " + dpdk::version(), false},
                                       [&](const Limits& limits) { return make_table(limits, setting.seed); });
  }
};

DPUBENCH_LINKED_STAGE_ENGINE(kWorkload, DpdkHash);

}  // namespace
}  // namespace dpubench::datapath::flow_table
