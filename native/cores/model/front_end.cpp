// The front end of a core: it chooses the contexts for a cycle, fetches for them, and finds the next cycle to simulate.
#include <algorithm>

#include "cores/model/core.hpp"

namespace dpubench::cores {

namespace {

bool shares_cycles(Policy policy) {
  return policy == Policy::kIcount || policy == Policy::kRoundRobin;
}

/// Add an access to the range of an instruction in the same direction. The accesses of an A64 instruction lie side by side.
void add(Range& range, const Access& access) {
  constexpr std::uint64_t kMostBytes = 64;
  const std::uint64_t bytes = std::uint64_t{1} << access.size_log2;
  const std::uint64_t begin = range.bytes == 0 ? access.address : std::min(range.address, access.address);
  const std::uint64_t end = std::max(range.address + range.bytes, access.address + bytes);
  range = {begin, static_cast<std::uint32_t>(std::min(end - begin, kMostBytes))};
}

}  // namespace

/// Charge the cycles since the last simulated one to their cause. Nothing could happen in these cycles.
void Core::account(Cycle now) {
  for (const auto& context : contexts_) {
    if (!context->stopped && context->cause != Cause::kNone) {
      context->counters.stalls[static_cast<std::size_t>(context->cause)] += now - looked_at_;
    }
  }
  looked_at_ = now;
}

/// Free the entries of instructions that left before this cycle.
void Core::release(Context& context, Cycle now) {
  const auto leave = [now](auto& entries, std::size_t& used) {
    while (!entries.empty() && entries.front() < now) {
      entries.pop();
      --used;
    }
  };
  leave(context.window, window_used_);
  leave(context.loads, loads_used_);
  leave(context.stores, stores_used_);
  for (std::size_t i = 0; i < context.queues.size(); ++i) leave(context.queues[i], queues_used_[i]);
}

std::uint32_t Core::choose(Cycle now, Order& order) {
  const auto count = static_cast<std::uint32_t>(contexts_.size());
  const auto rotated = [&](std::uint64_t first) {
    auto next = static_cast<std::uint32_t>(first % count);
    for (std::uint32_t i = 0; i < count; ++i) {
      order[i] = next;
      next = next + 1 == count ? 0 : next + 1;
    }
    return count;
  };
  switch (description_->organisation.policy) {
    case Policy::kSingle:
      order[0] = 0;
      return 1;
    case Policy::kStrict:
      rotated(now);
      return 1;
    case Policy::kSwitchOnStall:
      rotated(last_);
      return now < switched_ ? 0 : 1;
    case Policy::kSkipNotReady:  // same turns as in IssueTable: a context that enters out of turn waits for its cycle
    case Policy::kRoundRobin:
      return rotated(now);
    case Policy::kIcount: {
      rotated(now);
      std::array<std::size_t, kMaxContexts> in_front{};
      for (std::uint32_t i = 0; i < count; ++i) in_front[i] = contexts_[i]->in_front();
      std::stable_sort(order.begin(), order.begin() + count,
                       [&](std::uint32_t a, std::uint32_t b) { return in_front[a] < in_front[b]; });
      return count;
    }
  }
  return count;
}

/// Give the core to the next context that does not wait, if the current one waits (switch_on_stall).
void Core::switch_context(Cycle now) {
  const auto waits = [now](const Context& context) { return context.stopped || context.suspended_until > now; };
  if (!waits(*contexts_[last_])) return;
  for (std::uint32_t i = 1; i < contexts_.size(); ++i) {
    const auto next = static_cast<std::uint32_t>((last_ + i) % contexts_.size());
    if (waits(*contexts_[next])) continue;
    last_ = next;
    switched_ = now + description_->organisation.switch_cycles;
    return;
  }
}

bool Core::enter_all(Cycle now, const Order& order, std::uint32_t count) {
  const Policy policy = description_->organisation.policy;
  std::uint32_t left = description_->widths.enter;
  for (const auto& context : contexts_) {
    context->cause = context->suspended_until > now || policy == Policy::kSwitchOnStall ? Cause::kSwitch : Cause::kOther;
    context->wake = now + 1;
  }
  for (std::uint32_t i = 0; i < count && left > 0; ++i) {
    Context& context = *contexts_[order[i]];
    if (context.stopped || context.suspended_until > now) continue;
    const std::uint32_t entered = enter(context, now, left);
    left -= entered;
    if (entered > 0 && !shares_cycles(policy)) break;
  }
  return left < description_->widths.enter;
}

/// Look up a line of instructions. @returns false if it is not here yet
bool Core::fetch_line(Context& context, std::uint64_t address, Cycle now) {
  context.fetch_line = address >> instruction_line_shift_;
  Cycle at = now;
  if (translation_) at += translation_->instruction(address, at);
  const Cycle ready = instructions_->load(context.fetch_line, address, at);
  const Cycle hit = now + instructions_->latency_cycles();  // the front end's length includes it
  if (ready <= hit) return true;
  context.fetch_from = now + (ready - hit);
  context.fetch_cause = Cause::kInstructionMiss;
  if (description_->organisation.policy == Policy::kSwitchOnStall && context.buffer.empty())
    context.suspended_until = context.fetch_from;
  return false;
}

/// Predict a branch. @returns whether fetch ends behind it in this cycle
bool Core::fetch_branch(Context& context, const Executed& executed, Fetched& fetched, Cycle now) {
  const Outcome outcome = branches_.predict(context.number, *executed.what, executed.pc, executed.next_pc);
  if (outcome == Outcome::kWrong) {
    fetched.mispredicted = true;
    context.unresolved = true;
    context.fetch_cause = Cause::kBranch;
    return true;
  }
  if (!executed.taken()) return false;
  fetched.late_target = outcome == Outcome::kLateTarget;
  context.fetch_from =
      now + 1 + description_->branches.taken_cycles + (fetched.late_target ? description_->branches.target_miss_cycles : 0);
  return true;
}

/// Fetch up to `width` instructions of the lines that a cycle reads, up to a taken branch. @returns the number of fetched
/// instructions
std::uint32_t Core::fetch(Context& context, Cycle now, std::uint32_t width) {
  std::uint32_t fetched = 0;
  std::uint32_t lines = 1;
  const Cause delayed_by = context.fetch_cause;
  while (fetched < width && context.buffer.size() < description_->widths.most_fetched()) {
    const Executed* const executed = context.feed.peek();
    if (executed == nullptr) {
      context.source_over = true;
      break;
    }
    const std::uint64_t address = place(context.code_space, executed->pc);
    if (address >> instruction_line_shift_ != context.fetch_line) {
      if (fetched > 0 && ++lines > description_->widths.fetch_lines) break;
      if (!fetch_line(context, address, now)) break;
    }
    if (fetched == 0) context.fetch_cause = Cause::kFrontEnd;
    Fetched& entry = context.buffer.push();
    entry = {
        executed->what,         executed->pc, now + description_->widths.depth_cycles, {}, {}, executed->messages, false, false,
        context.feed.wrapped(), delayed_by};
    for (std::uint32_t i = 0; i < executed->number_of_accesses; ++i) {
      const Access& access = executed->accesses[i];
      add(access.is_store ? entry.store : entry.load, access);
    }
    ++fetched;
    const bool ends = executed->what->branch != Branch::kNone && fetch_branch(context, *executed, entry, now);
    context.feed.take();
    if (ends) break;
  }
  return fetched;
}

bool Core::fetch_all(Cycle now, const Order& order, std::uint32_t count) {
  std::uint32_t left = description_->widths.fetch;
  std::uint32_t contexts = description_->organisation.fetch_contexts;
  bool active = false;
  for (std::uint32_t i = 0; i < count && left > 0 && contexts > 0; ++i) {
    Context& context = *contexts_[order[i]];
    if (context.stopped || context.source_over || context.unresolved || context.fetch_from > now ||
        context.suspended_until > now || context.buffer.size() >= description_->widths.most_fetched()) {
      continue;
    }
    const std::uint32_t fetched = fetch(context, now, left);
    left -= fetched;
    active = active || fetched > 0 || context.source_over;
    if (fetched > 0) --contexts;
  }
  return active;
}

/// Return the next cycle in which any context can do anything.
Cycle Core::next_cycle(Cycle now, bool active) {
  Cycle next = kNever;
  const auto turns = static_cast<Cycle>(contexts_.size());
  const Policy policy = description_->organisation.policy;
  for (const auto& context : contexts_) {
    if (context->stopped) continue;
    if (active) return now + 1;
    Cycle own = kNever;
    if (context->suspended_until > now) {
      own = context->suspended_until;
    } else if (policy == Policy::kSwitchOnStall && now < switched_) {
      own = switched_;
    } else {
      if (!context->buffer.empty()) own = context->wake;
      const bool can_fetch =
          !context->source_over && !context->unresolved && context->buffer.size() < description_->widths.most_fetched();
      if (can_fetch) own = std::min(own, std::max(context->fetch_from, now + 1));
    }
    if (policy == Policy::kStrict) own += (context->number + turns - own % turns) % turns;
    next = std::min(next, own);
  }
  return next;
}

/// Return the first cycle behind `now` in which a context may let an instruction enter, or an earlier cycle.
Cycle Core::silent_until(const Context& context, Cycle now) const {
  const Cycle depth = description_->widths.depth_cycles;
  if (context.stopped) return kNever;
  if (context.buffer.empty()) return (context.unresolved ? now + 1 : std::max(context.fetch_from, now + 1)) + depth;
  const bool is_full = context.cause == Cause::kWindow || context.cause == Cause::kQueue || context.cause == Cause::kLoads ||
                       context.cause == Cause::kStores;
  return std::max(context.buffer.front().available, is_full ? context.wake : now + 1);
}

/// Put caches and predictors into the state in which the instruction would leave them.
void Core::warm(Context& context, const Executed& executed) {
  const std::uint64_t pc = place(context.code_space, executed.pc);
  if (pc >> instruction_line_shift_ != context.fetch_line) {
    context.fetch_line = pc >> instruction_line_shift_;
    instructions_->warm(context.fetch_line, false);
    if (translation_) translation_->warm_instruction(pc, now_->cycle);
  }
  if (executed.what->branch != Branch::kNone) branches_.predict(context.number, *executed.what, executed.pc, executed.next_pc);
  for (std::uint32_t i = 0; i < executed.number_of_accesses; ++i) {
    const Access& access = executed.accesses[i];
    const std::uint64_t address = place(context.data_space, access.address);
    data_->warm(address >> line_shift_, access.is_store);
    if (translation_) translation_->warm_data(address, now_->cycle);
  }
}

Cycle Core::step(Cycle now) {
  account(now);
  for (const auto& context : contexts_) release(*context, now);
  if (description_->organisation.policy == Policy::kSwitchOnStall) switch_context(now);
  Order order{};
  const std::uint32_t count = choose(now, order);
  bool active = enter_all(now, order, count);
  active = fetch_all(now, order, count) || active;
  for (const auto& context : contexts_) {
    // If nothing is there to enter, the cause is the one that fetch found in this cycle.
    const bool starved = context->buffer.empty() && context->cause != Cause::kNone && context->cause != Cause::kOther;
    if (starved && context->cause != Cause::kSwitch) context->cause = context->fetch_cause;
    if (context->source_over && context->buffer.empty() && !context->stopped) {
      context->finish(true);
      active = true;
    }
  }
  if (description_->organisation.policy == Policy::kSkipNotReady) {
    for (const auto& context : contexts_) table_.be_silent(context->number, silent_until(*context, now));
  }
  return next_cycle(now, active);
}

}  // namespace dpubench::cores
