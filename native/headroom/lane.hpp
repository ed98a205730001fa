// An operator of study operators inside the transmit loop, by the same lane as study operators and a stage of the server drive.
#pragma once

#include <memory>

#include "datapath/stages/lane_stage.hpp"
#include "headroom/job.hpp"
#include "headroom/transmit.hpp"
#include "inputs/store.hpp"
#include "operators/engines.hpp"

namespace dpubench::headroom {

/// The operator of a job, prepared and verified on known answers and on real input. All threads share it.
class LoopOperator {
 public:
  /// @throws Error that names the fault: operator or engine unknown, not able to run here, or wrong
  LoopOperator(const HeadroomJob& job, const EngineCatalog& engines);

  /// Open the lane of a thread, on that thread. After each burst it runs the operator on the next items of its real input, as
  /// many as the burst has packets. Destroy it before this object. @throws Error
  [[nodiscard]] std::unique_ptr<Insertion> open();
  /// Return the bytes of the largest item.
  [[nodiscard]] std::uint32_t item_bytes() const { return prepared_.most_in_bytes(); }
  [[nodiscard]] const datapath::StageReport& report() const { return prepared_.report(); }

 private:
  inputs::Store store_;
  datapath::PreparedOperator prepared_;
};

}  // namespace dpubench::headroom
