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

/// Return whether a context may have a cycle that belongs to `owner` (0: nobody). For FGMT.
bool IssueTable::may_have(Cycle cycle, std::uint8_t owner, std::uint32_t context) const {
  if (owner != 0) return owner == context + 1;
  if (!skipped_) return true;
  // Contexts whose turn comes earlier go first. An instruction that enters in cycle e issues from e + 1 on.
  for (auto turn = static_cast<std::uint32_t>(cycle % contexts_); turn != context; turn = turn + 1 == contexts_ ? 0 : turn + 1) {
    if (cycle > silent_until_[turn]) return false;
  }
  return true;
}

}  // namespace dpubench::cores
