#include "datapath/server/measured_part.hpp"

namespace dpubench::datapath {

void MeasuredPart::begin(std::uint64_t ramp_ticks, std::uint64_t duration_ticks) noexcept {
  ramp_ticks_ = ramp_ticks;
  duration_ticks_ = duration_ticks;
  account_.reset();
  state_ = duration_ticks == 0 ? State::kNone : State::kAwaited;
  // Until the part opens, every poll calls step(): the start may still become known, or known better.
  mark_ = duration_ticks == 0 ? kNever : 0;
}

MeasuredPart::Step MeasuredPart::step(std::uint64_t now) const noexcept {
  if (state_ == State::kOpen) return now >= mark_ ? Step::kCloses : Step::kNone;
  if (state_ != State::kAwaited) return Step::kNone;
  const auto start = start_->get();
  return start && now >= *start + ramp_ticks_ ? Step::kOpens : Step::kNone;
}

void MeasuredPart::open(std::uint64_t now, const PollTimes& polls, const Reading& reading) noexcept {
  state_ = State::kOpen;
  // A loop that the kernel kept from its CPU opens the part late. The part still ends with the schedule.
  mark_ = start_->get().value_or(now) + ramp_ticks_ + duration_ticks_;
  opened_ticks_ = now;
  polls_ = polls;
  reading_ = reading;
}

void MeasuredPart::close(std::uint64_t now, const PollTimes& polls, const Reading& reading) noexcept {
  state_ = State::kClosed;
  mark_ = kNever;
  account_ = {.from_ticks = opened_ticks_,
              .length_ticks = now - opened_ticks_,
              .polls = polls.since(polls_),
              .reading = {.received = reading.received - reading_.received,
                          .receive_work_ns = reading.receive_work_ns - reading_.receive_work_ns}};
}

}  // namespace dpubench::datapath
