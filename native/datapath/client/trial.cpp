#include "datapath/client/trial.hpp"

#include <algorithm>
#include <cmath>

#include "datapath/client/losses.hpp"
#include "datapath/frame/trailer.hpp"
#include "measure/clock.hpp"

namespace dpubench::datapath {
namespace {

using nlohmann::json;

/// No port takes more. It gives the room for the packets of a flood, whose number nobody knows before. Memory is used as
/// packets come.
constexpr double kMostFloodPps = 3e8;

class TickClock {
 public:
  /// Return the time since the first reading, which is the trial's start.
  std::uint64_t now_ns() noexcept {
    const std::uint64_t ticks = clock_.ticks();
    if (start_ == 0) start_ = ticks;
    return static_cast<std::uint64_t>(clock_.to_ns(ticks - start_));
  }

 private:
  const measure::Clock& clock_ = measure::Clock::instance();
  std::uint64_t start_ = 0;
};

std::uint64_t to_ns(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * 1e9));
}

TrialTimes times_of(const TrialSpec& spec) {
  return {to_ns(spec.ramp_s), to_ns(spec.ramp_s) + to_ns(spec.duration_s)};
}

}  // namespace

TrialRunner::TrialRunner(Port& port, const Traffic& traffic, Expectation* expectation, const TrafficJob& job)
    : traffic_(traffic),
      expectation_(expectation),
      burst_(job.burst),
      poisson_(DueCycle::poisson(inputs::Store({}, job.seed).random("traffic-poisson").next())),
      writer_(traffic, port.info().shares_buffers, job.memory.mb),
      sender_(port, writer_, job.burst),
      receiver_(port, traffic, expectation, job.burst, job.verify_all, job.receive) {}

void TrialRunner::require_possible(const TrialSpec& spec) const {
  if (spec.schedule == Schedule::kRecorded && traffic_.recorded.at.empty()) {
    throw Error(
        "/trial/schedule: recorded needs the times of a capture, but the traffic is a model; set traffic/source to capture");
  }
  if (spec.schedule == Schedule::kFlood && traffic_.churn_per_s > 0) {
    throw Error("/trial/schedule: flood has no due times, so it cannot replace flows; leave churn_per_s out");
  }
  const TrialTimes times = times_of(spec);
  const std::uint64_t most = due_times(spec).at_most_before(times.end_ns);
  if (most > kMaxPackets) {
    throw Error("/trial: " + std::to_string(most) + " packets are more than a trailer can number (" +
                std::to_string(kMaxPackets) + "); lower the rate or the duration");
  }
}

nlohmann::json TrialRunner::run(const TrialSpec& spec, const std::atomic<bool>& stop) {
  TickClock clock;
  return run(spec, stop, clock);
}

std::uint64_t TrialRunner::begin(const TrialSpec& spec, DueTimes& due) {
  require_possible(spec);
  const TrialTimes times = times_of(spec);
  const bool is_flood = spec.schedule == Schedule::kFlood;
  const auto most_of_flood = static_cast<std::uint64_t>((spec.ramp_s + spec.duration_s) * kMostFloodPps);
  const std::uint64_t most = (is_flood ? most_of_flood : due.at_most_before(times.end_ns)) + kMaxPacketBurst;
  gaps_.clear();
  writer_.begin(spec.number);
  sender_.set_burst(spec.schedule == Schedule::kInterval ? 1 : burst_);
  sender_.begin(times, due, is_flood, most);
  receiver_.begin(spec.number, times, sender_, !is_flood, most);
  if (!is_flood) receiver_.touch();
  return to_ns(spec.drain_s);
}

nlohmann::json TrialRunner::end(const TrialSpec& spec, DueTimes& due) {
  const TrialTimes times = times_of(spec);
  TrialRecord record{.spec = spec, .first = sender_.first(), .due = sender_.end(), .end = sender_.end()};
  if (spec.schedule != Schedule::kFlood) {
    // The loop took the due times of the packets that it offered. The next time that is ready is the one of the packet behind
    // them.
    bool measuring = sender_.measuring();
    for (std::uint64_t next = due.next(); next < times.end_ns; next = due.next()) {
      if (!measuring && next >= times.ramp_ns) {
        measuring = true;
        record.first = record.due;
      }
      ++record.due;
    }
    if (!measuring) record.first = record.due;
  }
  record_ = record;
  return event(spec, times);
}

nlohmann::json TrialRunner::event(const TrialSpec& spec, const TrialTimes& times) {
  const TrialRecord& record = *record_;
  const Sender::Counts& sent = sender_.counts();
  const Receiver::Counts& received = receiver_.counts();
  const Losses losses = find_losses(*this, traffic_, expectation_);
  const auto due = static_cast<double>(record.due - record.first);
  json event = {{"event", "trial"},
                {"trial", spec.number},
                {"offered_pps", due / spec.duration_s},
                {"begun_ns", begun_ns_},
                {"ramp_s", spec.ramp_s},
                {"duration_s", spec.duration_s},
                {"due", record.due - record.first},
                {"sent", sent.sent},
                {"tx_full", sent.tx_full},
                {"received", received.received},
                {"duplicates", received.duplicates},
                {"reordered", received.reordered},
                {"corrupted", received.corrupted},
                {"wrong", received.wrong},
                {"undecided", received.undecided},
                {"stale", received.stale},
                {"foreign", received.foreign},
                {"excused", losses.excused},
                {"sent_bytes", sent.sent_bytes},
                {"received_bytes", received.received_bytes},
                {"elapsed_ns", std::max(sent.last_ns, times.end_ns) - times.ramp_ns},
                {"gaps", json::array()},
                {"losses", json::array()},
                {"first_wrong", receiver_.first_wrong()}};
  for (const Gaps::Gap& gap : gaps_.all()) event["gaps"].push_back({gap.at_ns, gap.length_ns});
  for (const LossRun& run : losses.runs) event["losses"].push_back({run.first_due_ns, run.last_due_ns, run.count});
  if (spec.schedule != Schedule::kFlood) {
    if (sender_.lag().count() > 0) event["lag_ns"] = sender_.lag().json();
    if (receiver_.latency().count() > 0) event["latency_ns"] = receiver_.latency().json();
  }
  return event;
}

}  // namespace dpubench::datapath
