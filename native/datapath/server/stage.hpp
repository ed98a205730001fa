// A stage: one step of a workload on one core.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

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
  /// A new trial begins: counters and tables empty. Untimed.
  virtual void begin() {}
  /// Adds what it counted in the trial to `served.workload`; with a folder, dumps there what is checked flow by flow. Untimed.
  /// @throws Error
  virtual void collect(nlohmann::json& /*into*/, const std::string& /*dump_folder*/) {}
};

}  // namespace dpubench::datapath
