// flow-table, engine portable: a hash table of our own in plain C++.
//
// A bucket is one cache line: 8 tags of 16 bits and the places of the records that they stand for. A record is one cache line
// too, key and counters together, so that a packet of a known flow costs two lines. Both are fetched ahead for the whole batch.
// A key that finds its bucket full goes to the next one, and the full bucket counts the keys that passed it. A search ends at
// the first bucket that no key has passed. Erasing leaves no marks behind, so nothing is ever rehashed.
#include "datapath/workloads/flow-table/portable.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "base/keyed_hash.hpp"
#include "datapath/workloads/flow-table/engine.hpp"
#include "datapath/workloads/flow-table/indexed_table.hpp"
#include "datapath/workloads/flow-table/oracle.hpp"
#include "datapath/workloads/flow-table/own_tables.hpp"

namespace dpubench::datapath::flow_table {
namespace {

constexpr std::uint32_t kSlots = 8;
/// Flows per bucket on average. At 4 of 8 some 2 % of the buckets overflow.
constexpr std::uint32_t kFlowsPerBucket = 4;

struct alignas(64) Bucket {
  std::array<std::uint16_t, kSlots> tags;  ///< 0: free
  std::array<std::uint32_t, kSlots> places;
  std::uint32_t passed;  ///< keys that lie in a later bucket because this one was full
};
static_assert(sizeof(Bucket) == 64);

/// Return bit 15 of each of the four tags in `word` that equals the tags of `pattern`. The lowest such bit is right. One above
/// it may be wrong by a borrow (Warren, "Hacker's Delight", section 6-1); the comparison of keys then finds that out.
std::uint64_t equal_lanes(std::uint64_t word, std::uint64_t pattern) noexcept {
  const std::uint64_t difference = word ^ pattern;
  return (difference - 0x0001'0001'0001'0001U) & ~difference & 0x8000'8000'8000'8000U;
}

/// Return a hash of the six words of a key, computed side by side as in wyhash.
std::uint64_t hash_of(const Key& key, std::uint64_t seed) noexcept {
  std::uint64_t w[6];
  std::memcpy(w, &key, sizeof w);
  const std::uint64_t first = fold(w[0] ^ 0xa076'1d64'78bd'642fU, w[2] ^ seed);
  const std::uint64_t second = fold(w[1] ^ 0xe703'7ed1'a0b4'28dbU, w[3] ^ seed);
  const std::uint64_t third = fold(w[4] ^ 0x8ebc'6af0'9c88'c6e3U, w[5] ^ seed);
  return fold(first ^ 0x5899'65cc'7537'4cc3U, second ^ third ^ seed);
}

class PortableIndex {
 public:
  explicit PortableIndex(std::uint32_t flows)
      : seed_(process_secret()),
        buckets_(flows / kFlowsPerBucket + 1, "buckets"),
        records_(flows, "flow records"),
        free_(flows, "the list of free places") {
    clear();
  }

  void find(std::span<const Key> keys, std::uint32_t* places) noexcept {
    std::array<std::uint64_t, kMaxPacketBurst> hashes;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      hashes[i] = hash_of(keys[i], seed_);
      __builtin_prefetch(&buckets_[home(hashes[i])]);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      places[i] = first_match(buckets_[home(hashes[i])], tag(hashes[i]));
      if (places[i] != kNowhere) __builtin_prefetch(&records_[places[i]], 1);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (places[i] != kNowhere && same(records_[places[i]].key, keys[i])) [[likely]]
        continue;
      places[i] = search(keys[i], hashes[i]);
    }
  }

  std::uint32_t find_one(const Key& key) noexcept { return search(key, hash_of(key, seed_)); }

  std::uint32_t insert(const Key& key) noexcept {
    if (n_free_ == 0) return kNowhere;
    const std::uint32_t place = free_[--n_free_];
    const std::uint64_t hash = hash_of(key, seed_);
    // There are twice as many slots as places, so some bucket has room.
    for (std::size_t b = home(hash);; b = next(b)) {
      Bucket& bucket = buckets_[b];
      for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
        if (bucket.tags[slot] != 0) continue;
        bucket.tags[slot] = tag(hash);
        bucket.places[slot] = place;
        records_[place].key = key;
        return place;
      }
      ++bucket.passed;
    }
  }

  void erase(std::uint32_t place) noexcept {
    const std::uint64_t hash = hash_of(records_[place].key, seed_);
    for (std::size_t b = home(hash);; b = next(b)) {
      Bucket& bucket = buckets_[b];
      for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
        if (bucket.tags[slot] == 0 || bucket.places[slot] != place) continue;
        bucket.tags[slot] = 0;
        records_[place] = {};
        free_[n_free_++] = place;
        return;
      }
      --bucket.passed;
    }
  }

  CounterRef counters(std::uint32_t place) noexcept { return {records_[place].packets, records_[place].bytes}; }
  [[nodiscard]] FlowRecord record(std::uint32_t place) const noexcept { return records_[place]; }
  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(records_.size()); }
  [[nodiscard]] std::size_t memory_bytes() const { return buckets_.bytes() + records_.bytes() + free_.bytes(); }

  void clear() {
    buckets_.zero();
    records_.zero();
    n_free_ = places();
    for (std::uint32_t i = 0; i < n_free_; ++i) free_[i] = n_free_ - 1 - i;
  }

 private:
  [[nodiscard]] std::size_t home(std::uint64_t hash) const noexcept { return (hash >> 32) * buckets_.size() >> 32; }
  [[nodiscard]] std::size_t next(std::size_t bucket) const noexcept { return bucket + 1 == buckets_.size() ? 0 : bucket + 1; }
  static std::uint16_t tag(std::uint64_t hash) noexcept {
    const auto low = static_cast<std::uint16_t>(hash);
    return low == 0 ? std::uint16_t{1} : low;
  }

  static std::uint32_t first_match(const Bucket& bucket, std::uint16_t tag) noexcept {
    std::uint64_t words[2];
    std::memcpy(words, bucket.tags.data(), sizeof words);
    const std::uint64_t pattern = tag * 0x0001'0001'0001'0001U;
    const std::uint64_t low = equal_lanes(words[0], pattern);
    if (low != 0) return bucket.places[lane(low)];
    const std::uint64_t high = equal_lanes(words[1], pattern);
    return high != 0 ? bucket.places[4 + lane(high)] : kNowhere;
  }
  /// Return the lane of the lowest match, in the order in which the machine's words hold the tags.
  static std::uint32_t lane(std::uint64_t matches) noexcept {
    static_assert(std::endian::native == std::endian::little, "the first tag is the lowest 16 bits of its word");
    return static_cast<std::uint32_t>(__builtin_ctzll(matches)) / 16;
  }

  /// Compare the key with all candidates of all buckets where it can be.
  [[nodiscard]] std::uint32_t search(const Key& key, std::uint64_t hash) const noexcept {
    for (std::size_t b = home(hash), n = 0; n < buckets_.size(); b = next(b), ++n) {
      const Bucket& bucket = buckets_[b];
      for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
        if (bucket.tags[slot] == tag(hash) && same(records_[bucket.places[slot]].key, key)) return bucket.places[slot];
      }
      if (bucket.passed == 0) return kNowhere;
    }
    return kNowhere;
  }

  std::uint64_t seed_;
  Pages<Bucket> buckets_;
  Pages<FlowRecord> records_;
  Pages<std::uint32_t> free_;
  std::uint32_t n_free_ = 0;
};

class Portable final : public TableEngine {
 public:
  [[nodiscard]] const char* name() const override { return "portable"; }
  [[nodiscard]] const char* summary() const override {
    return "open addressing over buckets of one cache line, prefetched for the whole batch";
  }
  [[nodiscard]] std::string verify(const TableSetting& setting, const Frames& frames) const override {
    return verify_tables(make_portable_table, frames, setting.seed);
  }
  [[nodiscard]] std::unique_ptr<TableSession> open_tables(const TableSetting& setting) const override {
    return std::make_unique<OwnTables>(setting, PathInfo{"generic", "own hash table, bulk look-up", false}, make_portable_table);
  }
};

DPUBENCH_LINKED_STAGE_ENGINE(kWorkload, Portable);

}  // namespace

std::unique_ptr<FlowTable> make_portable_table(const Limits& limits) {
  return std::make_unique<IndexedTable<PortableIndex>>(PortableIndex(limits.flows), limits);
}

}  // namespace dpubench::datapath::flow_table
