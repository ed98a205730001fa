#include "datapath/client/losses.hpp"

#include <algorithm>

#include "datapath/client/trial.hpp"

namespace dpubench::datapath {

void LossRuns::add(std::uint64_t due_ns, bool follows) {
  if (!runs_.empty() && (follows || due_ns - runs_.back().last_due_ns <= apart_ns_)) {
    runs_.back().last_due_ns = due_ns;
    ++runs_.back().count;
    return;
  }
  if (runs_.size() == 2 * kMost) {
    while (runs_.size() > kMost) join();
  }
  runs_.push_back({due_ns, due_ns, 1});
}

void LossRuns::join() {
  constexpr std::uint64_t kLeastApartNs = 1000;
  apart_ns_ = std::max(kLeastApartNs, 2 * apart_ns_);
  std::vector<LossRun> joined;
  for (const LossRun& run : runs_) {
    if (!joined.empty() && run.first_due_ns - joined.back().last_due_ns <= apart_ns_) {
      joined.back().last_due_ns = run.last_due_ns;
      joined.back().count += run.count;
    } else {
      joined.push_back(run);
    }
  }
  runs_ = std::move(joined);
}

std::vector<LossRun> LossRuns::finish() {
  while (runs_.size() > kMost) join();
  return runs_;
}

Losses find_losses(const TrialRunner& runner, const Traffic& traffic, const Expectation* expectation) {
  Losses losses;
  const TrialRecord& record = *runner.record();
  const bool is_flood = record.spec.schedule == Schedule::kFlood;
  // In most trials all packets came back, and nothing is lost.
  if (record.end == record.due && runner.seen().count(record.first, record.end) == record.end - record.first) return losses;
  DueTimes due = runner.due_times(record.spec);
  Cursor cursor(traffic);
  cursor.seek(0);
  LossRuns runs;
  bool follows = false;
  for (std::uint64_t number = 0; number < record.due; ++number) {
    const std::uint64_t due_ns = is_flood ? 0 : due.next();
    if (number < record.first || (number < record.end && runner.seen().test(number))) {
      follows = false;
      continue;
    }
    if (expectation != nullptr && expectation->may_drop(cursor.at(number, due_ns).index)) {
      ++losses.excused;
      continue;
    }
    runs.add(due_ns, follows);
    follows = true;
  }
  // A flood has no due times, so its losses have none.
  if (!is_flood) losses.runs = runs.finish();
  return losses;
}

}  // namespace dpubench::datapath
