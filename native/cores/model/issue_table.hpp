// Books the issue slots, units and commit slots of the cycles ahead.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cores/model/calendar.hpp"
#include "cores/model/description.hpp"

namespace dpubench::cores {

/// A table of booked slots. Instructions book in the order in which they enter the window, and each takes the first cycle that
/// suits it. An older instruction therefore never loses a slot to a younger one, as with an oldest-first scheduler.
class IssueTable {
 public:
  IssueTable(const Description& description, const Now& now);

  /// Return the first cycle from `from` on in which `context` may issue and a unit of kind `unit` is free for `every` cycles.
  [[nodiscard]] Cycle find(std::size_t unit, Cycle from, Cycle every, std::uint32_t context) const {
    const Cycle end = now_->cycle + kAhead - every;
    if (turns_ > 1) from += (context + turns_ - from % turns_) % turns_;
    // The usual case has its own loop, because every instruction passes here at least once.
    if (every == 1 && !owned_) {
      while (from < end && !is_free(unit, from)) from += turns_;
    } else {
      while (from < end && !suits(unit, from, every, context)) from += turns_;
    }
    return from;
  }
  void take(std::size_t unit, Cycle at, Cycle every, std::uint32_t context) {
    if (at >= now_->cycle + kAhead - every) return;
    Slots& first = fresh(at);
    ++first.issued;
    ++first.units[unit];
    if (owned_) first.owner = static_cast<std::uint8_t>(context + 1);
    for (Cycle later = 1; later < every; ++later) ++fresh(at + later).units[unit];
  }
  /// Set the cycle until which a context lets nothing enter, as far as it is known now. For FGMT skip_not_ready.
  void be_silent(std::uint32_t context, Cycle until) { silent_until_[context] = until; }
  /// Book a commit slot in the first cycle from `from` on that has one. @returns that cycle
  Cycle commit(Cycle from) {
    const Cycle end = now_->cycle + kAhead;
    for (; from < end; ++from) {
      Slots& slots = fresh(from);
      if (slots.committed >= commit_width_) continue;
      ++slots.committed;
      return from;
    }
    return from;
  }

 private:
  // Instructions that wait for many misses in a row issue farther ahead than this. They take no slots from others.
  static constexpr unsigned kAheadLog2 = 14;
  static constexpr Cycle kAhead = Cycle{1} << kAheadLog2;

  struct Slots {
    std::uint32_t lap = ~std::uint32_t{0};  ///< lap of the ring; if it differs, the other fields are stale
    std::uint8_t issued = 0;
    std::uint8_t owner = 0;  ///< FGMT: number of the context that has the cycle, plus one; 0: nobody
    std::uint8_t committed = 0;
    std::array<std::uint8_t, kMaxUnits> units{};
  };

  [[nodiscard]] const Slots* at(Cycle cycle) const {
    const Slots& slots = ring_[cycle & (kAhead - 1)];
    return slots.lap == static_cast<std::uint32_t>(cycle >> kAheadLog2) ? &slots : nullptr;
  }
  Slots& fresh(Cycle cycle) {
    Slots& slots = ring_[cycle & (kAhead - 1)];
    const auto lap = static_cast<std::uint32_t>(cycle >> kAheadLog2);
    if (slots.lap != lap) {
      slots = {};
      slots.lap = lap;
    }
    return slots;
  }
  [[nodiscard]] bool may_have(Cycle cycle, std::uint8_t owner, std::uint32_t context) const;
  [[nodiscard]] bool is_free(std::size_t unit, Cycle cycle) const {
    const Slots* const slots = at(cycle);
    return slots == nullptr || (slots->issued < issue_width_ && slots->units[unit] < counts_[unit]);
  }
  [[nodiscard]] bool suits(std::size_t unit, Cycle cycle, Cycle every, std::uint32_t context) const {
    if (!is_free(unit, cycle)) return false;
    const Slots* const slots = at(cycle);
    if (owned_ && !may_have(cycle, slots == nullptr ? 0 : slots->owner, context)) return false;
    for (Cycle later = 1; later < every; ++later) {
      const Slots* const then = at(cycle + later);
      if (then != nullptr && then->units[unit] >= counts_[unit]) return false;
    }
    return true;
  }

  const Now* now_;
  std::vector<Slots> ring_;
  std::array<std::uint8_t, kMaxUnits> counts_{};
  std::uint32_t issue_width_;
  std::uint32_t commit_width_;
  std::uint32_t turns_;  ///< FGMT strict: number of contexts; otherwise 1
  std::uint32_t contexts_;
  bool owned_;    ///< FGMT: only one context issues in a cycle
  bool skipped_;  ///< skip_not_ready: a cycle belongs to the context in turn; others get it only if that one cannot use it
  std::array<Cycle, kMaxContexts> silent_until_{};
};

}  // namespace dpubench::cores
