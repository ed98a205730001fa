// Simulates one core: the front end cycle by cycle, the execution of an instruction when it enters the window (docs/cores.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cores/model/context.hpp"
#include "cores/model/hierarchy.hpp"
#include "cores/model/issue_table.hpp"
#include "cores/model/predictors.hpp"
#include "cores/model/tlb.hpp"

namespace dpubench::cores {

class Core {
 public:
  /// @param description, hierarchy, now  must outlive the core @param loads  one for each context
  Core(const Description& description, std::uint32_t number, std::vector<Load> loads, Hierarchy& hierarchy, const Now& now);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Simulate the cycle `now`. @returns the next cycle in which anything can happen, kNever when all contexts stopped
  /// @throws Error when no unit executes an instruction's kind, and every error of the sources
  Cycle step(Cycle now);

  [[nodiscard]] const std::vector<std::unique_ptr<Context>>& contexts() const { return contexts_; }
  [[nodiscard]] const Translation* translation() const { return translation_ ? &*translation_ : nullptr; }
  void reset_translation_counters() {
    if (translation_) translation_->reset_counters();
  }

 private:
  /// Units that execute a kind of instruction. It keeps the fields that every instruction needs side by side.
  struct Executor {
    std::size_t unit = 0;
    std::size_t queue = 0;
    std::uint32_t access_bytes = 0;
    Execution execution;
  };
  /// The entries of each structure that a context may have: its own if they are divided, else all of them.
  struct Limits {
    std::size_t window = 0;
    std::size_t loads = 0;
    std::size_t stores = 0;
    std::vector<std::size_t> queues;
  };
  /// The unit and queue for an instruction, with its times.
  struct Choice {
    std::size_t unit = 0;
    std::size_t queue = 0;
    Cycle issue = kNever;
    Cycle every = 1;
    Cycle latency = 1;
  };
  using Order = std::array<std::uint32_t, kMaxContexts>;

  // front_end.cpp: cycles, contexts, fetch
  void account(Cycle now);
  void release(Context& context, Cycle now);
  /// Order the contexts as the policy lets them enter and fetch. @returns the number of contexts that may
  std::uint32_t choose(Cycle now, Order& order);
  void switch_context(Cycle now);
  bool enter_all(Cycle now, const Order& order, std::uint32_t count);
  bool fetch_all(Cycle now, const Order& order, std::uint32_t count);
  std::uint32_t fetch(Context& context, Cycle now, std::uint32_t width);
  bool fetch_line(Context& context, std::uint64_t address, Cycle now);
  bool fetch_branch(Context& context, const Executed& executed, Fetched& fetched, Cycle now);
  [[nodiscard]] Cycle silent_until(const Context& context, Cycle now) const;
  [[nodiscard]] Cycle next_cycle(Cycle now, bool active);
  void warm(Context& context, const Executed& executed);

  // core.cpp: the window
  std::uint32_t enter(Context& context, Cycle now, std::uint32_t width);
  bool begin_instruction(Context& context, const Fetched& fetched);
  [[nodiscard]] bool is_fused(const Context& context, const Fetched& fetched) const;
  [[nodiscard]] Cause lacking(const Context& context, const Fetched& fetched, Cycle now, Cycle& until) const;
  [[nodiscard]] bool full(std::size_t own, std::size_t all, std::size_t limit) const { return (divided_ ? own : all) >= limit; }
  [[nodiscard]] bool queue_full(const Context& context, std::size_t queue) const {
    return full(context.queues[queue].size(), queues_used_[queue], limits_.queues[queue]);
  }
  void schedule(Context& context, const Fetched& fetched, Cycle now);
  [[nodiscard]] Choice choose_unit(const Context& context, const Fetched& fetched, Cycle from) const;
  [[nodiscard]] Cycle operands(const Context& context, const Fetched& fetched, Cycle from) const;
  Cycle load(Context& context, const Fetched& fetched, Cycle at);
  void store(Context& context, const Fetched& fetched, Cycle address_ready, Cycle data_ready, Cycle commit);
  static void count(ContextCounters& counters, const Fetched& fetched);
  void resolve(Context& context, const Fetched& fetched, Cycle complete, Cycle now);

  const Description* description_;
  Cache* instructions_;
  Cache* data_;
  const Now* now_;
  std::uint32_t line_shift_;
  std::uint32_t instruction_line_shift_;
  IssueTable table_;
  BranchUnit branches_;
  std::optional<Translation> translation_;
  std::array<std::vector<Executor>, kKinds> executors_;  ///< by kind
  Limits limits_;
  bool divided_;
  std::vector<std::unique_ptr<Context>> contexts_;
  // Sums over all contexts.
  std::size_t window_used_ = 0;
  std::size_t loads_used_ = 0;
  std::size_t stores_used_ = 0;
  std::vector<std::size_t> queues_used_;

  Cycle looked_at_ = 0;     ///< the last simulated cycle
  std::uint32_t last_ = 0;  ///< switch_on_stall: the context that has the core
  Cycle switched_ = 0;      ///< switch_on_stall: the current context may enter from here on
};

}  // namespace dpubench::cores
