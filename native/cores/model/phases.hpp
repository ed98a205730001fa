// Records what a context did, phase by phase. Each phase has the same number of counted instructions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "cores/model/calendar.hpp"
#include "cores/model/counters.hpp"

namespace dpubench::cores {

/// The results of one phase.
struct Phase {
  ContextCounters counters;
  std::uint64_t cycles = 0;
  CacheCounters l1d;
  TlbCounters itlb;
  TlbCounters dtlb;
};
nlohmann::json to_json(const Phase& phase);

/// The phases of one context. It reads counters only at the end of a phase. In between it costs one comparison per instruction.
class PhaseLog {
 public:
  /// Shorter phases would contain little but the reset of the counters behind a warm-up.
  static constexpr std::uint64_t kLeastInstructions = 1000;
  /// A result is one line of text, and its reader reads it whole.
  static constexpr std::size_t kMostPhases = 65'536;

  /// @param instructions  instructions per phase; 0: keep no phases
  explicit PhaseLog(std::uint64_t instructions) : length_(instructions) {}

  /// Set the counters to read. They must outlive the log. @param tlbs  null if the processor has none
  void watch(const CacheCounters& l1d, const TlbCounters* itlb, const TlbCounters* dtlb) {
    l1d_ = &l1d;
    itlb_ = itlb;
    dtlb_ = dtlb;
  }
  [[nodiscard]] bool is_kept() const { return length_ != 0; }
  /// Begin counting with counters at zero. @param at  the context's start
  void begin(Cycle at);
  /// Return whether the current phase ends with the last counted instruction.
  [[nodiscard]] bool is_full(std::uint64_t instructions) const { return instructions == next_; }
  /// End a phase. @param at  the cycle behind the commit of its last instruction @throws Error when there are too many phases
  void end_phase(const ContextCounters& counters, Cycle at);
  /// End the counting. The rest becomes a phase. @param at  the context's end
  void finish(const ContextCounters& counters, Cycle at);
  /// Prepare for the reset of the counters of caches and TLBs, which follows when all contexts are behind their warm-up.
  void before_reset();

  [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }

 private:
  /// Counters that the resets of other contexts may set to zero.
  struct Shared {
    CacheCounters l1d;
    TlbCounters itlb;
    TlbCounters dtlb;
  };
  [[nodiscard]] Shared look() const;
  /// Return the counts since the last call, and begin the next phase.
  Phase take(const ContextCounters& counters, Cycle at);

  std::uint64_t length_;
  std::uint64_t next_ = ~std::uint64_t{0};  ///< count of instructions at which the current phase is full
  const CacheCounters* l1d_ = nullptr;
  const TlbCounters* itlb_ = nullptr;
  const TlbCounters* dtlb_ = nullptr;
  Cycle begun_ = 0;
  ContextCounters before_;  ///< the context's counters when the phase began
  Shared shared_before_;    ///< the counters of caches and TLBs at that time, or at the last reset
  Shared carried_;          ///< the current phase's counts before the last reset
  std::vector<Phase> phases_;
};

}  // namespace dpubench::cores
