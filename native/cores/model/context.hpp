// The state of one hardware context.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cores/model/counters.hpp"
#include "cores/model/feed.hpp"
#include "cores/model/phases.hpp"
#include "cores/model/ring.hpp"
#include "cores/model/store_buffer.hpp"

namespace dpubench::cores {

inline constexpr Cycle kNever = ~Cycle{0};

/// The bytes that an instruction accesses in one direction.
struct Range {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;  ///< 0: none
};

/// An instruction between fetch and window.
struct Fetched {
  const Instruction* what = nullptr;
  std::uint64_t pc = 0;
  Cycle available = 0;  ///< the first cycle in which it can enter the window
  Range load;
  Range store;
  std::uint16_t messages = 0;
  bool mispredicted = false;
  bool late_target = false;
  bool wrapped = false;  ///< the source began again with this instruction
  Cause delayed_by = Cause::kFrontEnd;
};

/// The issue cycles of the instructions in one queue of one context, in ascending order.
class Waiting {
 public:
  explicit Waiting(std::size_t entries) : cycles_(entries) {}

  void push(Cycle issue) {
    // Most instructions issue in about the order in which they enter. The right place is therefore near the end.
    cycles_.push(issue);
    for (std::size_t i = cycles_.size() - 1; i > 0 && cycles_[i - 1] > issue; --i) std::swap(cycles_[i - 1], cycles_[i]);
  }
  [[nodiscard]] bool empty() const { return cycles_.empty(); }
  [[nodiscard]] std::size_t size() const { return cycles_.size(); }
  [[nodiscard]] Cycle front() const { return cycles_.front(); }
  void pop() { cycles_.pop(); }

 private:
  Ring<Cycle> cycles_;
};

/// The commit cycles of messages. When there are many, it keeps only every n-th, where n is a power of two.
class MessageTimes {
 public:
  void add(Cycle cycle) {
    if (count_++ % every_ != 0) return;
    cycles_.push_back(cycle);
    if (cycles_.size() < 2 * kMost) return;
    for (std::size_t i = 0; i < kMost; ++i) cycles_[i] = cycles_[2 * i];
    cycles_.resize(kMost);
    every_ *= 2;
  }
  [[nodiscard]] const std::vector<Cycle>& cycles() const { return cycles_; }
  [[nodiscard]] std::uint64_t every() const { return every_; }

 private:
  static constexpr std::size_t kMost = 1024;
  std::vector<Cycle> cycles_;
  std::uint64_t every_ = 1;
  std::uint64_t count_ = 0;
};

/// The work of a context.
struct Load {
  std::unique_ptr<InstructionSource> source;
  Extent extent;
  std::uint64_t code_space = 0;  ///< contexts with the same number have the same instructions at the same addresses
  std::uint64_t data_space = 0;  ///< the same for data
};

struct Context {
  Context(const Description& description, std::uint32_t number_in_core, Load load_of_it,
          std::function<void(const Executed&)> warm)
      : number(number_in_core),
        extent(load_of_it.extent),
        feed(std::move(load_of_it.source), load_of_it.extent, std::move(warm)),
        code_space(load_of_it.code_space),
        data_space(load_of_it.data_space),
        buffer(description.widths.most_fetched()),
        window(description.window.instructions),
        loads(description.window.loads),
        stores(description.window.stores),
        store_buffer(description.window.stores),
        phases(load_of_it.extent.phase_instructions) {
    for (const Queue& queue : description.queues) queues.emplace_back(queue.entries);
  }

  std::uint32_t number;
  Extent extent;
  Feed feed;
  std::uint64_t code_space;
  std::uint64_t data_space;

  // Fetch.
  Ring<Fetched> buffer;
  Cycle fetch_from = 0;     ///< the first cycle in which it may fetch
  bool unresolved = false;  ///< a mispredicted branch is in the buffer; the instructions behind it are not known
  bool source_over = false;
  Cause fetch_cause = Cause::kFrontEnd;  ///< reason of the last stop of fetch
  std::uint64_t fetch_line = ~std::uint64_t{0};
  Cycle suspended_until = 0;  ///< switch_on_stall

  // Window.
  std::array<Cycle, kRegisters> ready{};  ///< cycles from which registers can be read
  Ring<Cycle> window;                     ///< commit cycles
  Ring<Cycle> loads;                      ///< commit cycles
  Ring<Cycle> stores;                     ///< cycles in which they are written
  std::vector<Waiting> queues;
  StoreBuffer store_buffer;
  Cycle last_issue = 0;
  Cycle last_commit = 0;
  Cycle last_written = 0;
  Cycle last_store_address = 0;  ///< cycle from which the addresses of all stores that entered are known
  const Instruction* last_entered = nullptr;
  std::uint64_t last_pc = 0;  ///< address of `last_entered`

  // Account.
  Cause cause = Cause::kFrontEnd;  ///< reason why nothing entered in the last simulated cycle
  Cycle wake = 0;                  ///< the first cycle in which that can change
  bool counting = false;           ///< it is behind the warm-up
  bool done = false;               ///< everything that is to be counted has entered
  bool stopped = false;            ///< it fetches nothing more
  std::uint64_t messages_begun = 0;
  Cycle start = 0;  ///< the cycle after the commit of the last instruction that is not counted
  Cycle end = 0;    ///< the cycle after the commit of the last counted instruction
  ContextCounters counters;
  ContextCounters result;  ///< `counters` at the moment when it was done
  MessageTimes message_times;
  PhaseLog phases;

  /// End the counting: everything that is to be counted has entered. @param stop  also stop execution
  void finish(bool stop) {
    stopped = stopped || stop;
    if (done) return;
    done = true;
    end = last_commit + 1;
    if (counting) {
      phases.finish(counters, end);
      result = counters;
    } else {
      start = end;  // the warm-up was the whole input
    }
    message_times.add(end);
  }
  [[nodiscard]] std::size_t in_front() const {  ///< instructions that icount counts
    std::size_t waiting = buffer.size();
    for (const Waiting& queue : queues) waiting += queue.size();
    return waiting;
  }
};

/// Return the address that the caches see. Spaces are shifted against each other, as address space randomisation would do.
/// Otherwise buffers at the same place in every process would fall into the same sets.
[[nodiscard]] inline std::uint64_t place(std::uint64_t space, std::uint64_t address) {
  constexpr std::uint64_t kShiftBytes = 37 * 4096 + 13 * 128;
  constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 48) - 1;
  return space << 48 | ((address + space * kShiftBytes) & kAddressMask);
}

}  // namespace dpubench::cores
