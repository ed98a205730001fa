#include "cores/model/tlb.hpp"

#include <bit>

namespace dpubench::cores {

Translation::Translation(const Tlbs& description)
    : page_shift_(static_cast<unsigned>(std::countr_zero(description.page_bytes))),
      walk_cycles_(description.walk_cycles),
      instruction_(description.instruction),
      data_(description.data) {
  if (!description.second) return;
  second_.emplace(description.second->entries / description.second->ways, description.second->ways, Replacement::kLru);
  second_cycles_ = description.second->latency_cycles;
}

Cycle Translation::miss(First& first, std::uint64_t page) {
  ++first.counters.misses;
  if (second_) {
    if (const std::size_t slot = second_->find(page); slot != Sets::kNone) {
      second_->touch(slot);
      return second_cycles_;
    }
    std::uint64_t evicted = 0;
    second_->insert(page, evicted);
  }
  ++first.counters.walks;
  return second_cycles_ + walk_cycles_;
}

Cycle Translation::look_up_page(First& first, std::uint64_t page, Cycle at) {
  std::size_t slot = first.sets.find(page);
  if (slot == Sets::kNone) {
    const Cycle cycles = miss(first, page);
    std::uint64_t evicted = 0;
    slot = first.sets.insert(page, evicted);
    first.entries[slot] = {at, at + cycles};
  } else {
    first.sets.touch(slot);
  }
  Entry& entry = first.entries[slot];
  // This access is younger but earlier in time, so it would have been the miss.
  if (at < entry.asked) entry = {at, at + (entry.ready - entry.asked)};
  first.last_page = page;
  first.last_ready = entry.ready;
  return entry.ready > at ? entry.ready - at : 0;
}

void Translation::warm(First& first, std::uint64_t address, Cycle at) {
  const TlbCounters counters = first.counters;
  const Cycle cycles = look_up(first, address, at);
  first.counters = counters;
  if (cycles == 0) return;
  first.entries[first.sets.find(address >> page_shift_)] = {at, at};
  first.last_ready = at;
}

void Translation::reset_counters() {
  instruction_.counters = {};
  data_.counters = {};
}

}  // namespace dpubench::cores
