#include "cores/model/core.hpp"

#include <bit>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace dpubench::cores {

namespace {

/// Return the first cycle in which an entry is free. @param entries  cycles in which entries are free again, in ascending order
template <class Entries>
Cycle first_of(const Entries& entries) {
  return entries.empty() ? kNever : entries.front();
}

constexpr std::size_t index_of(Kind kind) {
  return static_cast<std::size_t>(kind);
}

}  // namespace

Core::Core(const Description& description, std::uint32_t number, std::vector<Load> loads, Hierarchy& hierarchy, const Now& now)
    : description_(&description),
      instructions_(&hierarchy.instruction_cache(number)),
      data_(&hierarchy.data_cache(number)),
      now_(&now),
      line_shift_(static_cast<std::uint32_t>(std::countr_zero(data_->line_bytes()))),
      instruction_line_shift_(static_cast<std::uint32_t>(std::countr_zero(instructions_->line_bytes()))),
      table_(description, now),
      branches_(description.branches, description.organisation.contexts),
      divided_(description.organisation.divided),
      queues_used_(description.queues.size()) {
  const auto share = [&](std::size_t entries) { return divided_ ? entries / description.organisation.contexts : entries; };
  limits_ = {share(description.window.instructions), share(description.window.loads), share(description.window.stores), {}};
  for (const Queue& queue : description.queues) limits_.queues.push_back(share(queue.entries));
  if (description.tlbs) translation_.emplace(*description.tlbs);
  for (std::size_t i = 0; i < description.units.size(); ++i) {
    const Unit& unit = description.units[i];
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      if (unit.executes.at(kind)) executors_.at(kind).push_back({i, unit.queue, unit.access_bytes, *unit.executes.at(kind)});
    }
  }
  // Unknown instructions execute as integer instructions.
  executors_.at(index_of(Kind::kUnknown)) = executors_.at(index_of(Kind::kInteger));
  for (std::uint32_t i = 0; i < loads.size(); ++i) {
    contexts_.push_back(std::make_unique<Context>(description, i, std::move(loads[i]),
                                                  [this, i](const Executed& executed) { warm(*contexts_[i], executed); }));
    Context& context = *contexts_.back();
    context.phases.watch(data_->counters(), translation_ ? &translation_->instruction_counters() : nullptr,
                         translation_ ? &translation_->data_counters() : nullptr);
    context.counting = context.extent.warm_up_messages == 0;
    if (context.counting) context.phases.begin(context.start);
  }
}

/// Return the structure that is too full for an instruction to enter, or kNone. @param until  out: cycle in which that can change
Cause Core::lacking(const Context& context, const Fetched& fetched, Cycle now, Cycle& until) const {
  // An entry is free in the cycle after its instruction left.
  const auto freed = [&](auto entry_of) {
    Cycle first = entry_of(context);
    if (!divided_) {
      for (const auto& other : contexts_) first = std::min(first, entry_of(*other));
    }
    return first == kNever ? now + 1 : std::max(first, now) + 1;
  };
  if (full(context.window.size(), window_used_, limits_.window)) {
    until = freed([](const Context& c) { return first_of(c.window); });
    return Cause::kWindow;
  }
  if (fetched.load.bytes != 0 && full(context.loads.size(), loads_used_, limits_.loads)) {
    until = freed([](const Context& c) { return first_of(c.loads); });
    return Cause::kLoads;
  }
  if (fetched.store.bytes != 0 && full(context.stores.size(), stores_used_, limits_.stores)) {
    until = freed([](const Context& c) { return first_of(c.stores); });
    return Cause::kStores;
  }
  const auto& executors = executors_[index_of(fetched.what->kind)];
  if (executors.empty()) return Cause::kNone;
  until = kNever;
  for (const Executor& executor : executors) {
    const std::size_t queue = executor.queue;
    if (!queue_full(context, queue)) return Cause::kNone;
    until = std::min(until, freed([queue](const Context& c) { return first_of(c.queues[queue]); }));
  }
  return Cause::kQueue;
}

/// Account for an instruction that is about to enter. @returns false if the context ends here and must not simulate it
bool Core::begin_instruction(Context& context, const Fetched& fetched) {
  const Extent& extent = context.extent;
  if (context.done) return true;
  const bool limited = extent.messages != 0 || extent.instructions != 0;
  const bool enough_messages =
      extent.messages != 0 && fetched.messages != 0 && context.counting && context.counters.messages >= extent.messages;
  const bool enough_instructions = extent.instructions != 0 && context.counters.instructions >= extent.instructions;
  if (enough_messages || enough_instructions || (fetched.wrapped && !limited)) {
    context.finish(!extent.repeat);
    return !context.stopped;
  }
  if (fetched.messages != 0) {
    context.messages_begun += fetched.messages;
    if (!context.counting && context.messages_begun > extent.warm_up_messages) {
      context.counting = true;
      context.start = context.last_commit + 1;
      context.counters = {};
      context.phases.begin(context.start);
    }
    if (context.counting) {
      context.counters.messages += fetched.messages;
      context.message_times.add(context.last_commit + 1);
    }
  }
  return true;
}

/// Return whether an instruction is the second half of a fused pair. Its result is then ready together with the first half's.
bool Core::is_fused(const Context& context, const Fetched& fetched) const {
  const Instruction* const first = context.last_entered;
  const Instruction& second = *fetched.what;
  // AESE and AESD also read the register that they write. AESMC and AESIMC read one register (a64/vector.cpp).
  return description_->widths.fuses_aes && second.kind == Kind::kAes && second.reads == 1 && first != nullptr &&
         first->kind == Kind::kAes && first->reads == 2 && first->read[0] == first->written[0] &&
         context.last_pc + Executed::kInstructionBytes == fetched.pc && second.read[0] == first->written[0] &&
         second.written[0] == first->written[0];
}

/// Let up to `width` instructions of a context enter the window. @returns the number that entered
std::uint32_t Core::enter(Context& context, Cycle now, std::uint32_t width) {
  std::uint32_t entered = 0;
  context.wake = now + 1;
  while (entered < width) {
    if (context.buffer.empty()) {
      context.cause = context.fetch_cause;
      context.wake = kNever;  // only fetch knows
      break;
    }
    const Fetched& fetched = context.buffer.front();
    if (fetched.available > now) {
      context.cause = fetched.delayed_by;
      context.wake = fetched.available;
      break;
    }
    const bool fused = is_fused(context, fetched);
    Cycle until = 0;
    if (const Cause cause = fused ? Cause::kNone : lacking(context, fetched, now, until); cause != Cause::kNone) {
      context.cause = cause;
      context.wake = until;
      break;
    }
    if (!begin_instruction(context, fetched)) {
      context.buffer.clear();
      break;
    }
    context.last_entered = fetched.what;
    context.last_pc = fetched.pc;
    if (!fused) {
      schedule(context, fetched, now);
      ++entered;
    }
    count(context.counters, fetched);
    if (context.phases.is_full(context.counters.instructions))
      context.phases.end_phase(context.counters, context.last_commit + 1);
    context.buffer.pop();
    if (fused) continue;
    if (context.suspended_until > now) break;
  }
  if (entered > 0) {
    context.cause = Cause::kNone;
    context.wake = now + 1;
  }
  return entered;
}

/// Return the cycle in which an instruction could issue with respect to its operands.
Cycle Core::operands(const Context& context, const Fetched& fetched, Cycle from) const {
  const Instruction& what = *fetched.what;
  const std::uint8_t reads = fetched.store.bytes != 0 ? what.first_data : what.reads;
  for (std::uint8_t i = 0; i < reads; ++i) from = std::max(from, context.ready[what.read[i]]);
  if (!description_->organisation.in_order) return from;
  // In-order issue has no renaming. The written registers must have no result on its way (a scoreboard).
  from = std::max(from, context.last_issue);
  for (std::uint8_t i = 0; i < what.writes; ++i) from = std::max(from, context.ready[what.written[i]]);
  return from;
}

Core::Choice Core::choose_unit(const Context& context, const Fetched& fetched, Cycle from) const {
  const std::uint32_t bytes = std::max(fetched.load.bytes, fetched.store.bytes);
  Choice best;
  for (const auto& [unit, queue, access_bytes, execution] : executors_[index_of(fetched.what->kind)]) {
    if (queue_full(context, queue)) continue;
    // Long accesses pass the unit in pieces.
    const std::uint32_t pieces = bytes <= access_bytes ? 1 : (bytes + access_bytes - 1) / access_bytes;
    const Cycle every = Cycle{execution.every_cycles} * pieces;
    const Cycle issue = table_.find(unit, from, every, context.number);
    if (issue < best.issue)
      best = {unit, queue, issue, every, execution.latency_cycles + Cycle{execution.every_cycles} * (pieces - 1)};
  }
  return best;
}

/// Simulate a load. @param at  cycle in which the address is ready @returns the cycle in which the data is ready
Cycle Core::load(Context& context, const Fetched& fetched, Cycle at) {
  const std::uint64_t address = place(context.data_space, fetched.load.address);
  ++context.counters.loads;
  const StoreBuffer::Answer stores = context.store_buffer.look_up(address, fetched.load.bytes, at, now_->cycle);
  if (translation_) at += translation_->data(address, at);
  const Cycle begin = std::max({at, stores.wait, description_->waits_for_stores ? context.last_store_address : 0});
  const std::uint64_t first = address >> line_shift_;
  const std::uint64_t last = (address + fetched.load.bytes - 1) >> line_shift_;
  Cycle ready = 0;
  for (std::uint64_t line = first; line <= last; ++line) ready = std::max(ready, data_->load(line, fetched.pc, begin));
  const Cycle forwarded = std::max(begin, stores.data) + description_->store_forwarding_cycles;
  if (stores.forwarded) {
    ++context.counters.forwarded;
    return forwarded;
  }
  if (stores.touched) ready = std::max(ready, forwarded);
  const bool missed = ready > begin + data_->latency_cycles();
  if (missed && description_->organisation.policy == Policy::kSwitchOnStall) context.suspended_until = ready;
  return ready;
}

void Core::store(Context& context, const Fetched& fetched, Cycle address_ready, Cycle data_ready, Cycle commit) {
  const std::uint64_t address = place(context.data_space, fetched.store.address);
  ++context.counters.stores;
  context.last_store_address = std::max(context.last_store_address, address_ready);
  const std::uint64_t first = address >> line_shift_;
  const std::uint64_t last = (address + fetched.store.bytes - 1) >> line_shift_;
  // The store asks for the line when it commits. Stores are written in order, one per cycle.
  Cycle written = std::max(commit, context.last_written) + 1;
  for (std::uint64_t line = first; line <= last; ++line) written = std::max(written, data_->store(line, commit));
  context.last_written = written;
  context.stores.push(written);
  ++stores_used_;
  context.store_buffer.add(address, fetched.store.bytes, std::max(address_ready, data_ready), written);
}

/// Let the front end continue behind a mispredicted branch once it is executed.
void Core::resolve(Context& context, const Fetched& fetched, Cycle complete, Cycle now) {
  if (!fetched.mispredicted) return;
  context.unresolved = false;
  context.fetch_from = std::max(complete, now + 1);
  context.fetch_cause = Cause::kBranch;
}

void Core::count(ContextCounters& counters, const Fetched& fetched) {
  ++counters.instructions;
  ++counters.kinds[index_of(fetched.what->kind)];
  if (fetched.what->branch == Branch::kNone) return;
  ++counters.branches;
  if (fetched.what->branch == Branch::kConditional) ++counters.conditional;
  if (fetched.mispredicted) ++counters.mispredicted;
  if (fetched.late_target) ++counters.late_targets;
}

void Core::schedule(Context& context, const Fetched& fetched, Cycle now) {
  const Instruction& what = *fetched.what;
  Cycle complete = now + 1;
  Cycle issue = now + 1;
  Cycle data_ready = 0;
  if (what.kind != Kind::kNop) {
    const Choice choice = choose_unit(context, fetched, operands(context, fetched, now + 1));
    if (choice.issue == kNever) {
      throw Error("the processor '" + description_->name + "' has no unit for instructions of kind '" +
                  std::string(kKindNames[index_of(what.kind)]) +
                  "', but the trace has such instructions: use a processor that executes them, or another engine");
    }
    issue = choice.issue;
    table_.take(choice.unit, issue, choice.every, context.number);
    context.queues[choice.queue].push(issue);
    ++queues_used_[choice.queue];
    context.last_issue = issue;
    complete = issue + choice.latency;
    if (fetched.load.bytes != 0) complete = load(context, fetched, complete);
    if (fetched.store.bytes != 0) {
      if (translation_) complete += translation_->data(place(context.data_space, fetched.store.address), complete);
      for (std::uint8_t i = what.first_data; i < what.reads; ++i) data_ready = std::max(data_ready, context.ready[what.read[i]]);
    }
  }
  // A plain store writes only its address register. A load writes its address registers last.
  const bool is_plain_store = fetched.store.bytes != 0 && fetched.load.bytes == 0 && what.kind == Kind::kStore;
  const std::uint8_t first_address = is_plain_store ? 0 : what.first_address;
  for (std::uint8_t i = 0; i < what.writes; ++i) context.ready[what.written[i]] = i < first_address ? complete : issue + 1;
  const Cycle commit = table_.commit(std::max({complete, data_ready, context.last_commit}));
  context.last_commit = commit;
  context.window.push(commit);
  ++window_used_;
  if (fetched.load.bytes != 0) {
    context.loads.push(commit);
    ++loads_used_;
  }
  if (fetched.store.bytes != 0) store(context, fetched, complete, data_ready, commit);
  resolve(context, fetched, complete, now);
}

}  // namespace dpubench::cores
