// Finds when packets were lost, to tell losses in a gap of a loop from losses of a loop that was too slow.
#pragma once

#include <cstdint>
#include <vector>

#include "datapath/client/traffic.hpp"

namespace dpubench::datapath {

class TrialRunner;

/// The packets lost between two due times.
struct LossRun {
  std::uint64_t first_due_ns;
  std::uint64_t last_due_ns;
  std::uint64_t count;
};

/// The runs of lost packets. Runs that lie close together are joined until few enough are left.
class LossRuns {
 public:
  static constexpr std::size_t kMost = 1000;
  /// Add a lost packet. Due times ascend. @param follows  the packet before it was lost, too
  void add(std::uint64_t due_ns, bool follows);
  [[nodiscard]] std::vector<LossRun> finish();

 private:
  void join();
  std::vector<LossRun> runs_;
  std::uint64_t apart_ns_ = 0;  ///< runs no farther apart than this are joined
};

struct Losses {
  std::vector<LossRun> runs;
  std::uint64_t excused = 0;  ///< packets that did not come back and that the server may drop on purpose; not in `runs`
};
/// Return the losses of the measured part of the last trial.
Losses find_losses(const TrialRunner& runner, const Traffic& traffic, const Expectation* expectation);

}  // namespace dpubench::datapath
