// The measured part of a trial, on the server's clock: from the time when the first packet of it was due to the time when the
// last one was. Ramp, drain and set-up lie outside.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "datapath/server/poll_times.hpp"

namespace dpubench::datapath {

/// When a trial's schedule began, on the server's clock. All loops of a server share one.
///
/// The clocks of client and server are never compared: a packet says when it was due, from the trial's start, and cannot come
/// before. So the start is the earliest of (arrival - due) over the packets that came so far. On a server elsewhere it is late by
/// the shortest way of a packet, as all that it receives is.
class TrialStart {
 public:
  void clear() noexcept { ticks_.store(kUnknown, std::memory_order_relaxed); }
  void saw(std::uint64_t arrival_ticks, std::uint64_t due_ticks) noexcept {
    const std::uint64_t start = arrival_ticks - std::min(arrival_ticks, due_ticks);
    std::uint64_t known = ticks_.load(std::memory_order_relaxed);
    while (start < known && !ticks_.compare_exchange_weak(known, start, std::memory_order_relaxed)) {
    }
  }
  /// Nothing before a packet came.
  [[nodiscard]] std::optional<std::uint64_t> get() const noexcept {
    const std::uint64_t known = ticks_.load(std::memory_order_relaxed);
    return known == kUnknown ? std::nullopt : std::optional(known);
  }

 private:
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  std::atomic<std::uint64_t> ticks_ = kUnknown;
};

/// What one loop notes of the measured part. It reads no clock: it is told the time of each poll.
class MeasuredPart {
 public:
  /// @param start  of the trial, shared by all loops; outlives this
  explicit MeasuredPart(TrialStart& start) : start_(&start) {}

  /// A trial begins. @param duration_ticks  0: nobody asked for its measured part
  void begin(std::uint64_t ramp_ticks, std::uint64_t duration_ticks) noexcept;

  /// Whether step() has something to do. Once a poll.
  [[nodiscard]] bool is_due(std::uint64_t now) const noexcept { return now >= mark_; }
  /// Whether the start of the trial may still be told better.
  [[nodiscard]] bool awaits() const noexcept { return state_ == State::kAwaited; }
  void saw(std::uint64_t arrival_ticks, std::uint64_t due_ticks) noexcept { start_->saw(arrival_ticks, due_ticks); }

  enum class Step : std::uint8_t { kNone, kOpens, kCloses };
  /// What `now` is, where is_due(). The caller calls open() or close() then.
  [[nodiscard]] Step step(std::uint64_t now) const noexcept;
  /// What is counted besides the loop's polls.
  struct Reading {
    std::uint64_t received = 0;         ///< packets of the trial so far
    std::uint64_t receive_work_ns = 0;  ///< that the kernel's threads ran so far
  };
  /// @param now  the part is measured from here on, or up to here
  void open(std::uint64_t now, const PollTimes& polls, const Reading& reading) noexcept;
  void close(std::uint64_t now, const PollTimes& polls, const Reading& reading) noexcept;
  [[nodiscard]] bool is_open() const noexcept { return state_ == State::kOpen; }

  struct Account {
    std::uint64_t from_ticks = 0;
    std::uint64_t length_ticks = 0;
    PollTimes polls;
    Reading reading;  ///< of the part alone
  };
  /// Nothing unless the part was opened and closed.
  [[nodiscard]] const std::optional<Account>& account() const noexcept { return account_; }

 private:
  enum class State : std::uint8_t { kNone, kAwaited, kOpen, kClosed };
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  TrialStart* start_;
  State state_ = State::kNone;
  std::uint64_t ramp_ticks_ = 0;
  std::uint64_t duration_ticks_ = 0;
  std::uint64_t mark_ = kNever;
  std::uint64_t opened_ticks_ = 0;
  PollTimes polls_;  ///< when it was opened
  Reading reading_;  ///<
  std::optional<Account> account_;
};

}  // namespace dpubench::datapath
