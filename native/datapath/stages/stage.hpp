// A stage: one step of a workload on one core.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "datapath/stages/batch.hpp"

namespace dpubench::datapath {

class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  /// Work on the packets of a batch that concern the stage and whose fate is kForward, and return how many these were. The
  /// stage may change their bytes, fate and mark, replace an mbuf, and (reassembly) append packets held before, up to
  /// kMaxPacketBurst. It does not allocate (except mbufs from pools), lock, log or throw. A stage over an asynchronous lane
  /// submits and polls here until its packets are complete.
  virtual std::uint32_t run(Batch& batch) noexcept = 0;
  /// Return whether the stage reads Batch::parsed. The loop parses packets only if some stage does.
  [[nodiscard]] virtual bool reads_headers() const noexcept { return true; }
  /// Use the time when nothing was received, for ageing. @param now_ns  of a monotonic clock that is read once per loop
  virtual void idle(std::uint64_t /*now_ns*/) noexcept {}
  /// Begin a new trial, untimed: empty the counters, and the tables too unless their flows are kept (with counts of zero).
  /// @throws Error
  virtual void begin(bool /*keeps_flows*/) {}
  /// Note that the measured part of the trial begins, or ends, between two bursts. A stage that counts this part apart does so
  /// here.
  virtual void measured(bool /*begins*/) noexcept {}
  /// Return how many packets of the trial were answered before a loop could receive them, or nothing where loops receive all.
  [[nodiscard]] virtual std::optional<std::uint64_t> elsewhere() const noexcept { return {}; }
  struct Flows {
    std::uint64_t known = 0;
    std::uint64_t room = 0;  ///< most flows that the table can know
  };
  /// Return how many flows its table knows now, untimed; nothing for a stage that keeps no flows from one trial to the next.
  /// @throws Error
  [[nodiscard]] virtual std::optional<Flows> flows() const { return {}; }
  /// Add the counts of the trial to `served.workload`. With a folder, also dump there the records that are checked flow by
  /// flow. Untimed. @throws Error
  virtual void collect(nlohmann::json& /*into*/, const std::string& /*dump_folder*/) {}
};

}  // namespace dpubench::datapath
