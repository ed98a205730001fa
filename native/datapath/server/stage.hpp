// A stage: one step of a workload on one core.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "datapath/server/batch.hpp"

namespace dpubench::datapath {

class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  /// Works on the packets of a batch whose fate is kForward and that concern it; may change their bytes, fate and mark, replace
  /// an mbuf, and (reassembly) append packets held before, up to kMaxPacketBurst. Returns how many it worked on. Neither
  /// allocates (but mbufs from pools), locks, logs nor throws. A stage over an asynchronous lane submits and polls here until its
  /// packets are complete.
  virtual std::uint32_t run(Batch& batch) noexcept = 0;
  /// Whether it looks at Batch::parsed: packets are parsed only where a stage does.
  [[nodiscard]] virtual bool reads_headers() const noexcept { return true; }
  /// Called when nothing was received: time for ageing. @param now_ns of a monotonic clock that is read once per loop
  virtual void idle(std::uint64_t /*now_ns*/) noexcept {}
  /// A new trial begins: counters are empty, and tables too unless what they know is kept (with counts of nothing). Untimed.
  /// @throws Error
  virtual void begin(bool /*keeps_flows*/) {}
  /// The measured part of the trial begins, or ends, between two bursts. Counts of it alone are told from others here.
  virtual void measured(bool /*begins*/) noexcept {}
  /// Packets of the trial that were answered before a loop could receive them; nothing where loops receive all.
  [[nodiscard]] virtual std::optional<std::uint64_t> elsewhere() const noexcept { return {}; }
  struct Flows {
    std::uint64_t known = 0;
    std::uint64_t room = 0;  ///< of the table: known at most
  };
  /// What its table knows now; nothing of a stage that keeps no flows from one trial to the next. Untimed. @throws Error
  [[nodiscard]] virtual std::optional<Flows> flows() const { return {}; }
  /// Adds what it counted in the trial to `served.workload`; with a folder, dumps there what is checked flow by flow. Untimed.
  /// @throws Error
  virtual void collect(nlohmann::json& /*into*/, const std::string& /*dump_folder*/) {}
};

}  // namespace dpubench::datapath
