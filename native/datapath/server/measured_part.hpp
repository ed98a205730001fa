// The measured part of a trial, on the server's clock. It lasts from the time when its first packet is due until the time when
// its last packet is due. Ramp, drain and set-up lie outside.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "datapath/server/poll_times.hpp"

namespace dpubench::datapath {

/// The time when a trial's schedule began, on the server's clock. All loops of a server share one object.
///
/// The clocks of client and server are never compared. A packet says when it was due, counted from the trial's start, and it
/// cannot arrive before that. So the start is the earliest (arrival - due) over the packets that came so far. On a remote
/// server the start is late by the shortest travel time of a packet, as is everything that the server receives.
class TrialStart {
 public:
  void clear() noexcept { ticks_.store(kUnknown, std::memory_order_relaxed); }
  void saw(std::uint64_t arrival_ticks, std::uint64_t due_ticks) noexcept {
    const std::uint64_t start = arrival_ticks - std::min(arrival_ticks, due_ticks);
    std::uint64_t known = ticks_.load(std::memory_order_relaxed);
    while (start < known && !ticks_.compare_exchange_weak(known, start, std::memory_order_relaxed)) {
    }
  }
  /// Return the start, or nothing before the first packet came.
  [[nodiscard]] std::optional<std::uint64_t> get() const noexcept {
    const std::uint64_t known = ticks_.load(std::memory_order_relaxed);
    return known == kUnknown ? std::nullopt : std::optional(known);
  }

 private:
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  std::atomic<std::uint64_t> ticks_ = kUnknown;
};

/// One loop's record of the measured part. It reads no clock: the caller passes the time of each poll.
class MeasuredPart {
 public:
  /// @param start  start of the trial, shared by all loops; outlives this object
  explicit MeasuredPart(TrialStart& start) : start_(&start) {}

  /// Begin a trial. @param duration_ticks  0: nobody asked for a measured part
  void begin(std::uint64_t ramp_ticks, std::uint64_t duration_ticks) noexcept;

  /// Return whether step() may have something to do. Called once a poll.
  [[nodiscard]] bool is_due(std::uint64_t now) const noexcept { return now >= mark_; }
  /// Return whether the start of the trial may still become known, or known better.
  [[nodiscard]] bool awaits() const noexcept { return state_ == State::kAwaited; }
  void saw(std::uint64_t arrival_ticks, std::uint64_t due_ticks) noexcept { start_->saw(arrival_ticks, due_ticks); }

  enum class Step : std::uint8_t { kNone, kOpens, kCloses };
  /// Return whether the part opens or closes at `now`. Call this when is_due(), and then call open() or close() accordingly.
  [[nodiscard]] Step step(std::uint64_t now) const noexcept;
  /// The counts besides the loop's polls.
  struct Reading {
    std::uint64_t received = 0;         ///< packets of the trial so far
    std::uint64_t receive_work_ns = 0;  ///< CPU time of the kernel's threads so far
  };
  /// Open or close the part. @param now  the part begins or ends here
  void open(std::uint64_t now, const PollTimes& polls, const Reading& reading) noexcept;
  void close(std::uint64_t now, const PollTimes& polls, const Reading& reading) noexcept;
  [[nodiscard]] bool is_open() const noexcept { return state_ == State::kOpen; }

  struct Account {
    std::uint64_t from_ticks = 0;
    std::uint64_t length_ticks = 0;
    PollTimes polls;
    Reading reading;  ///< counts of the part alone
  };
  /// Return the account, or nothing unless the part was opened and closed.
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
  PollTimes polls_;  ///< polls when the part opened
  Reading reading_;  ///< counts when the part opened
  std::optional<Account> account_;
};

}  // namespace dpubench::datapath
