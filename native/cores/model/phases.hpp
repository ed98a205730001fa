// What a context did phase by phase: so many counted instructions each.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "cores/model/calendar.hpp"
#include "cores/model/counters.hpp"

namespace dpubench::cores {

/// One of them.
struct Phase {
  ContextCounters counters;
  std::uint64_t cycles = 0;
  CacheCounters l1d;
  TlbCounters itlb;
  TlbCounters dtlb;
};
nlohmann::json to_json(const Phase& phase);

/// The phases of one context. Counters are looked at where a phase ends and nowhere else: between these there is one comparison
/// an instruction.
class PhaseLog {
 public:
  /// Fewer would give phases that hold next to nothing but the reset of counters behind a warm-up.
  static constexpr std::uint64_t kLeastInstructions = 1000;
  /// A result is one line of text that somebody reads whole.
  static constexpr std::size_t kMostPhases = 65'536;

  /// @param instructions  of a phase; 0: none are kept
  explicit PhaseLog(std::uint64_t instructions) : length_(instructions) {}

  /// Whose counters are looked at; they outlive it. @param tlbs  null where the processor has none
  void watch(const CacheCounters& l1d, const TlbCounters* itlb, const TlbCounters* dtlb) {
    l1d_ = &l1d;
    itlb_ = itlb;
    dtlb_ = dtlb;
  }
  [[nodiscard]] bool is_kept() const { return length_ != 0; }
  /// Counting begins, with counters at zero. @param at  the context's start
  void begin(Cycle at);
  /// Whether the phase under way ends with the instruction that was counted last.
  [[nodiscard]] bool is_full(std::uint64_t instructions) const { return instructions == next_; }
  /// @param at  the cycle behind the commit of its last instruction @throws Error when there are too many phases
  void end_phase(const ContextCounters& counters, Cycle at);
  /// Nothing more is counted: what is left becomes a phase. @param at  the context's end
  void finish(const ContextCounters& counters, Cycle at);
  /// The counters of caches and TLBs are about to become zero, for all contexts are behind their warm-up now.
  void before_reset();

  [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }

 private:
  /// Counters that other contexts' resets may put back to zero.
  struct Shared {
    CacheCounters l1d;
    TlbCounters itlb;
    TlbCounters dtlb;
  };
  [[nodiscard]] Shared look() const;
  /// What was counted since the last time; the next phase begins.
  Phase take(const ContextCounters& counters, Cycle at);

  std::uint64_t length_;
  std::uint64_t next_ = ~std::uint64_t{0};  ///< instructions counted when the phase under way is full
  const CacheCounters* l1d_ = nullptr;
  const TlbCounters* itlb_ = nullptr;
  const TlbCounters* dtlb_ = nullptr;
  Cycle begun_ = 0;
  ContextCounters before_;  ///< of the context when the phase began
  Shared shared_before_;    ///< the same of caches and TLBs, or at the last reset
  Shared carried_;          ///< of the phase under way, before the last reset
  std::vector<Phase> phases_;
};

}  // namespace dpubench::cores
