#include "cores/model/issue_table.hpp"

namespace dpubench::cores {

IssueTable::IssueTable(const Description& description, const Now& now)
    : now_(&now),
      ring_(kAhead),
      issue_width_(description.widths.issue),
      commit_width_(description.widths.commit),
      turns_(description.organisation.policy == Policy::kStrict ? description.organisation.contexts : 1),
      contexts_(description.organisation.contexts),
      owned_(description.organisation.policy == Policy::kSkipNotReady ||
             description.organisation.policy == Policy::kSwitchOnStall),
      skipped_(description.organisation.policy == Policy::kSkipNotReady) {
  for (std::size_t i = 0; i < description.units.size(); ++i)
    counts_.at(i) = static_cast<std::uint8_t>(description.units[i].count);
}

/// FGMT: whether a cycle that `owner` (0: nobody) has can be the context's.
bool IssueTable::may_have(Cycle cycle, std::uint8_t owner, std::uint32_t context) const {
  if (owner != 0) return owner == context + 1;
  if (!skipped_) return true;
  // Those whose turn comes before the context's go first. What enters in cycle e issues from e + 1 on.
  for (auto turn = static_cast<std::uint32_t>(cycle % contexts_); turn != context; turn = turn + 1 == contexts_ ? 0 : turn + 1) {
    if (cycle > silent_until_[turn]) return false;
  }
  return true;
}

bool IssueTable::suits(std::size_t unit, Cycle cycle, Cycle every, std::uint32_t context) const {
  const Slots* const slots = at(cycle);
  if (slots != nullptr && (slots->issued >= issue_width_ || slots->units[unit] >= counts_[unit])) return false;
  if (owned_ && !may_have(cycle, slots == nullptr ? 0 : slots->owner, context)) return false;
  for (Cycle later = 1; later < every; ++later) {
    const Slots* const then = at(cycle + later);
    if (then != nullptr && then->units[unit] >= counts_[unit]) return false;
  }
  return true;
}

Cycle IssueTable::find(std::size_t unit, Cycle from, Cycle every, std::uint32_t context) const {
  const Cycle end = now_->cycle + kAhead - every;
  if (turns_ > 1) from += (context + turns_ - from % turns_) % turns_;
  while (from < end && !suits(unit, from, every, context)) from += turns_;
  return from;
}

void IssueTable::take(std::size_t unit, Cycle at, Cycle every, std::uint32_t context) {
  if (at >= now_->cycle + kAhead - every) return;
  Slots& first = fresh(at);
  ++first.issued;
  ++first.units[unit];
  if (owned_) first.owner = static_cast<std::uint8_t>(context + 1);
  for (Cycle later = 1; later < every; ++later) ++fresh(at + later).units[unit];
}

Cycle IssueTable::commit(Cycle from) {
  while (from < now_->cycle + kAhead) {
    Slots& slots = fresh(from);
    if (slots.committed < commit_width_) {
      ++slots.committed;
      return from;
    }
    ++from;
  }
  return from;
}

}  // namespace dpubench::cores
