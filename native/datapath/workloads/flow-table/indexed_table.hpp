// A flow table over an index that maps a key to a place. portable and dpdk-hash both use it.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <utility>

#include "datapath/ports/port.hpp"
#include "datapath/workloads/flow-table/flow_table.hpp"
#include "datapath/workloads/flow-table/pages.hpp"

namespace dpubench::datapath::flow_table {

/// The value that stands for no place.
inline constexpr std::uint32_t kNowhere = 0xffff'ffffU;

/// The packets and bytes of the flow at a place, wherever the index keeps them. Both are 0 at a free place.
struct CounterRef {
  std::uint64_t& packets;
  std::uint64_t& bytes;
};

template <class T>
concept Index = requires(T index, const T view, std::span<const Key> keys, const Key& key, std::uint32_t* places,
                         std::uint32_t place) {
  /// Write the places of a batch of keys, kNowhere for keys that are not there, and prefetch the counters.
  { index.find(keys, places) }
  noexcept;
  { index.find_one(key) }
  noexcept->std::same_as<std::uint32_t>;
  /// Return a place for a key that is not there yet, or kNowhere when there is none.
  { index.insert(key) }
  noexcept->std::same_as<std::uint32_t>;
  { index.erase(place) }
  noexcept;
  { index.counters(place) }
  noexcept->std::same_as<CounterRef>;
  { view.record(place) }
  noexcept->std::same_as<FlowRecord>;
  { view.places() } -> std::same_as<std::uint32_t>;  // every place is below this
  { view.memory_bytes() } -> std::same_as<std::size_t>;
  index.clear();
};

template <Index I>
class IndexedTable final : public FlowTable {
 public:
  /// Make an empty table. @throws Error when there is no memory
  IndexedTable(I index, const Limits& limits)
      : index_(std::move(index)),
        limits_(limits),
        ages_(limits.retires() ? index_.places() : 0, "the ages of flows"),
        retired_(limits.retires() ? kMaxRetired : 0, "records of retired flows") {
    ages_.zero();
  }

  std::uint32_t count(std::span<const Key> keys, const std::uint32_t* bytes, bool* refused,
                      std::uint32_t now_ms) noexcept override {
    std::array<std::uint32_t, kMaxPacketBurst> places;
    index_.find(keys, places.data());
    if (limits_.idle_ms != 0) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (places[i] != kNowhere) __builtin_prefetch(&ages_[places[i]], 1);
      }
    }
    std::uint32_t n_refused = 0;
    changed_ = false;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      // An earlier packet of the batch may have entered this flow, or taken its place.
      std::uint32_t place = changed_ ? index_.find_one(keys[i]) : places[i];
      if (place != kNowhere && limits_.idle_ms != 0) [[unlikely]] {
        if (is_idle(place, now_ms)) {
          retire(place);
          ++totals_.aged;
          place = kNowhere;
        } else {
          ages_[place].last_ms = now_ms;
        }
      }
      if (place == kNowhere) [[unlikely]] {
        place = enter(keys[i], now_ms);
      }
      refused[i] = place == kNowhere;
      if (refused[i]) [[unlikely]] {
        ++n_refused;
        continue;
      }
      const CounterRef counters = index_.counters(place);
      ++counters.packets;
      counters.bytes += bytes[i];
    }
    totals_.refused += n_refused;
    return n_refused;
  }

  void age(std::uint32_t now_ms, std::uint32_t places) noexcept override {
    if (limits_.idle_ms == 0) return;
    for (std::uint32_t i = std::min(places, index_.places()); i > 0; --i) {
      if (++hand_ >= index_.places()) hand_ = 0;
      if (ages_[hand_].is_live != 0 && is_idle(hand_, now_ms)) {
        retire(hand_);
        ++totals_.aged;
      }
    }
  }

  void clear() override {
    index_.clear();
    ages_.zero();
    totals_ = {};
    n_retired_ = 0;
    hand_ = 0;
    oldest_ = newest_ = kNowhere;
  }

  void zero() override {
    for (std::uint32_t place = 0; place < index_.places(); ++place) {
      const CounterRef counters = index_.counters(place);
      counters.packets = counters.bytes = 0;
    }
    totals_ = {.flows = totals_.flows};
    n_retired_ = 0;
  }

  [[nodiscard]] Totals totals() const override { return totals_; }

  void for_each(const std::function<void(const FlowRecord&)>& visit) const override {
    for (std::uint32_t place = 0; place < index_.places(); ++place) {
      const FlowRecord record = index_.record(place);
      if (record.packets != 0) visit(record);
    }
    for (std::size_t i = 0; i < n_retired_; ++i) visit(retired_[i]);
  }

  [[nodiscard]] std::size_t memory_bytes() const override {
    return index_.memory_bytes() + ages_.bytes() + n_retired_ * sizeof(FlowRecord);
  }

 private:
  /// The time when a flow was last seen, and its neighbours in the order in which flows entered.
  struct Age {
    std::uint32_t last_ms;
    std::uint32_t older;
    std::uint32_t newer;
    std::uint32_t is_live;
  };

  [[nodiscard]] bool is_idle(std::uint32_t place, std::uint32_t now_ms) const noexcept {
    return now_ms - ages_[place].last_ms > limits_.idle_ms;
  }

  [[gnu::noinline]] std::uint32_t enter(const Key& key, std::uint32_t now_ms) noexcept {
    changed_ = true;
    std::uint32_t place = totals_.flows < limits_.flows ? index_.insert(key) : kNowhere;
    if (place == kNowhere && limits_.full == Full::kEvictOldest && oldest_ != kNowhere) {
      retire(oldest_);
      ++totals_.evicted;
      place = index_.insert(key);
    }
    if (place == kNowhere) return kNowhere;
    ++totals_.flows;
    ++totals_.inserted;
    if (limits_.retires()) {
      ages_[place] = {now_ms, newest_, kNowhere, 1};
      (newest_ == kNowhere ? oldest_ : ages_[newest_].newer) = place;
      newest_ = place;
    }
    return place;
  }

  void retire(std::uint32_t place) noexcept {
    changed_ = true;
    // A flow that zero() kept and that had no packet since has nothing to record.
    if (const FlowRecord record = index_.record(place); record.packets != 0) {
      if (n_retired_ < retired_.size()) {
        retired_[n_retired_++] = record;
      } else {
        ++totals_.retired_lost;
      }
    }
    Age& age = ages_[place];
    (age.older == kNowhere ? oldest_ : ages_[age.older].newer) = age.newer;
    (age.newer == kNowhere ? newest_ : ages_[age.newer].older) = age.older;
    age.is_live = 0;
    index_.erase(place);
    --totals_.flows;
  }

  I index_;
  Limits limits_;
  Pages<Age> ages_;
  Pages<FlowRecord> retired_;  // memory is touched only as it is used: most trials retire few
  std::size_t n_retired_ = 0;
  Totals totals_;
  std::uint32_t hand_ = 0;
  std::uint32_t oldest_ = kNowhere;
  std::uint32_t newest_ = kNowhere;
  bool changed_ = false;
};

}  // namespace dpubench::datapath::flow_table
