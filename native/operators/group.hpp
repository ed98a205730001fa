// One configuration of a job with its points: prepares them, verifies them, and runs them window by window.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/store.hpp"
#include "measure/counters.hpp"
#include "measure/team.hpp"
#include "operators/buffers.hpp"
#include "operators/driver.hpp"
#include "operators/engines.hpp"
#include "operators/footprint.hpp"
#include "operators/verify.hpp"
#include "protocol/events.hpp"
#include "protocol/job.hpp"

namespace dpubench {

/// One engine of a group, ready to be timed.
struct PointRun {
  const protocol::JobPoint* point = nullptr;
  std::unique_ptr<Session> session;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<std::unique_ptr<LaneStepper>> steppers;
  std::vector<Output> accepted;  ///< for each item, an output that passed verification
  bool judged = false;           ///< all outputs of one window were judged, whatever the operator
  std::uint64_t chunk = 1;
  std::size_t bursts_in_flight = 1;  ///< the most bursts under way; 1 for synchronous engines
  bool alive = true;
  bool remarked = false;
};

/// One configuration with everything that its windows need.
class Group {
 public:
  Group(const protocol::Job& job, const protocol::JobGroup& spec, const EngineCatalog& engines, inputs::Store& store,
        protocol::EventWriter& events, const measure::EnergyMeter& energy)
      : job_(job), spec_(spec), engines_(engines), store_(store), events_(events), energy_(energy) {}

  /// Prepare and verify every point. A point that fails reports its failure and is dropped.
  void prepare();
  [[nodiscard]] bool alive() const {
    return std::any_of(points_.begin(), points_.end(), [](const PointRun& p) { return p.alive; });
  }
  [[nodiscard]] PointRun* find(std::string_view id) {
    const auto it = std::find_if(points_.begin(), points_.end(), [&](const PointRun& p) { return p.point->id == id; });
    return it == points_.end() ? nullptr : &*it;
  }
  [[nodiscard]] std::vector<PointRun>& points() { return points_; }
  [[nodiscard]] const std::string& id() const { return spec_.id; }
  /// Run a window of a point and check all buffers that it touched. Report it unless `warm_up`.
  void window(PointRun& run, std::uint32_t cycle, int half, bool warm_up);
  /// Run the point's operations once, between marks (measure/region.hpp), then check and report them. @return whether all is well
  bool trace(PointRun& run, std::uint64_t operations);
  /// Run the check that needs no window: no engine wrote to its inputs.
  void finish();

 private:
  void fail(PointRun& run, std::string_view phase, std::string_view message) {
    run.alive = false;
    // A device may still work on this point's jobs, in buffers that the other points use.
    run.steppers.clear();
    run.lanes.clear();
    events_.failure(phase, message, spec_.id, run.point->id);
    // The points share their inputs. Restore them, so that a change by this point does not count against the others.
    for (auto& buffers : buffers_) {
      if (buffers != nullptr) buffers->restore_inputs();
    }
  }
  /// Check the inputs of all threads. @throws Error when an engine wrote to its input
  void check_inputs() const {
    for (const auto& buffers : buffers_) {
      if (buffers != nullptr) buffers->check_inputs();
    }
  }
  void prepare_point(PointRun& run);
  /// Return the jobs that a point should keep under way, or 0 if its engine is synchronous. @param slot  nullptr if there is no
  /// such engine
  [[nodiscard]] static std::uint32_t in_flight_of(const protocol::JobPoint& point, const EngineSlot* slot) {
    const std::uint32_t by_default = slot == nullptr || slot->engine == nullptr ? 0 : slot->engine->info().in_flight;
    return by_default == 0 || point.in_flight == 0 ? by_default : point.in_flight;
  }
  void layout();
  /// Return the operations of a trace, or 0 if the job is not traced.
  [[nodiscard]] std::uint64_t traced_operations() const {
    return job_.control == protocol::Control::kTraced ? job_.operations : 0;
  }
  void open_lanes(PointRun& run);
  void check_window(PointRun& run, std::span<const std::uint64_t> touched, std::span<const std::size_t> first,
                    Operator::WindowTotals& totals);

  const protocol::Job& job_;
  const protocol::JobGroup& spec_;
  const EngineCatalog& engines_;
  inputs::Store& store_;
  protocol::EventWriter& events_;
  const measure::EnergyMeter& energy_;
  const Operator* op_ = nullptr;
  std::unique_ptr<Work> work_;
  std::unique_ptr<Verifier> verifier_;
  std::vector<std::unique_ptr<BufferSet>> buffers_;  ///< one per thread, shared by the points: only the lane differs
  std::unique_ptr<measure::ThreadTeam> team_;
  std::vector<std::unique_ptr<measure::CycleCounter>> cycles_;  ///< one per thread of the team, or none
  std::vector<PointRun> points_;
  Extent extent_;  ///< contents of one thread's buffers
};

}  // namespace dpubench
