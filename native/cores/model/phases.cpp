#include "cores/model/phases.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"

namespace dpubench::cores {

using nlohmann::json;

namespace {

// These lists go field by field. Sums and differences share them, so that nobody forgets a new counter in one of the two.
template <class Combine>
void combine(CacheCounters& into, const CacheCounters& other, Combine with) {
  with(into.accesses, other.accesses);
  with(into.misses, other.misses);
  with(into.late, other.late);
  with(into.write_backs, other.write_backs);
  with(into.prefetches, other.prefetches);
  with(into.prefetch_hits, other.prefetch_hits);
}

template <class Combine>
void combine(TlbCounters& into, const TlbCounters& other, Combine with) {
  with(into.accesses, other.accesses);
  with(into.misses, other.misses);
  with(into.walks, other.walks);
}

template <class Combine>
void combine(ContextCounters& into, const ContextCounters& other, Combine with) {
  with(into.instructions, other.instructions);
  with(into.messages, other.messages);
  for (std::size_t i = 0; i < kKinds; ++i) with(into.kinds.at(i), other.kinds.at(i));
  for (std::size_t i = 0; i < kCauses; ++i) with(into.stalls.at(i), other.stalls.at(i));
  with(into.branches, other.branches);
  with(into.conditional, other.conditional);
  with(into.mispredicted, other.mispredicted);
  with(into.late_targets, other.late_targets);
  with(into.loads, other.loads);
  with(into.stores, other.stores);
  with(into.forwarded, other.forwarded);
}

constexpr auto kAdd = [](std::uint64_t& into, std::uint64_t other) { into += other; };
constexpr auto kTakeOff = [](std::uint64_t& into, std::uint64_t other) { into -= other; };

template <class T>
T difference(T now, const T& before) {
  combine(now, before, kTakeOff);
  return now;
}

json misses_of(const CacheCounters& counters) {
  return {{"accesses", counters.accesses}, {"misses", counters.misses}};
}
json misses_of(const TlbCounters& counters) {
  return {{"accesses", counters.accesses}, {"misses", counters.misses}};
}

void add(Phase& into, const Phase& other) {
  combine(into.counters, other.counters, kAdd);
  into.cycles += other.cycles;
  combine(into.l1d, other.l1d, kAdd);
  combine(into.itlb, other.itlb, kAdd);
  combine(into.dtlb, other.dtlb, kAdd);
}

}  // namespace

json to_json(const Phase& phase) {
  json kinds = json::object();
  for (std::size_t i = 0; i < kKinds; ++i) kinds[std::string(kKindNames.at(i))] = phase.counters.kinds.at(i);
  return {{"instructions", phase.counters.instructions},
          {"cycles", phase.cycles},
          {"kinds", kinds},
          {"branches", phase.counters.branches},
          {"loads", phase.counters.loads},
          {"stores", phase.counters.stores},
          {"l1d", misses_of(phase.l1d)},
          {"itlb", misses_of(phase.itlb)},
          {"dtlb", misses_of(phase.dtlb)}};
}

PhaseLog::Shared PhaseLog::look() const {
  return {*l1d_, itlb_ == nullptr ? TlbCounters{} : *itlb_, dtlb_ == nullptr ? TlbCounters{} : *dtlb_};
}

void PhaseLog::begin(Cycle at) {
  if (!is_kept()) return;
  begun_ = at;
  before_ = {};
  shared_before_ = look();
  carried_ = {};
  next_ = length_;
}

Phase PhaseLog::take(const ContextCounters& counters, Cycle at) {
  const Shared now = look();
  Phase phase{difference(counters, before_), at - begun_, difference(now.l1d, shared_before_.l1d),
              difference(now.itlb, shared_before_.itlb), difference(now.dtlb, shared_before_.dtlb)};
  combine(phase.l1d, carried_.l1d, kAdd);
  combine(phase.itlb, carried_.itlb, kAdd);
  combine(phase.dtlb, carried_.dtlb, kAdd);
  before_ = counters;
  shared_before_ = now;
  carried_ = {};
  begun_ = at;
  return phase;
}

void PhaseLog::end_phase(const ContextCounters& counters, Cycle at) {
  if (phases_.size() == kMostPhases) {
    throw Error("there are more than " + std::to_string(kMostPhases) + " phases of " + std::to_string(length_) +
                " instructions: give a larger phase_instructions");
  }
  phases_.push_back(take(counters, at));
  next_ = counters.instructions + length_;
}

void PhaseLog::finish(const ContextCounters& counters, Cycle at) {
  if (next_ == ~std::uint64_t{0}) return;
  if (counters.instructions != before_.instructions || phases_.empty()) {
    end_phase(counters, at);
  } else {
    // These counts come from instructions that were fetched ahead of the end and never entered.
    add(phases_.back(), take(counters, at));
  }
  next_ = ~std::uint64_t{0};
}

void PhaseLog::before_reset() {
  if (next_ == ~std::uint64_t{0}) return;
  const Shared now = look();
  combine(carried_.l1d, difference(now.l1d, shared_before_.l1d), kAdd);
  combine(carried_.itlb, difference(now.itlb, shared_before_.itlb), kAdd);
  combine(carried_.dtlb, difference(now.dtlb, shared_before_.dtlb), kAdd);
  shared_before_ = {};
}

}  // namespace dpubench::cores
