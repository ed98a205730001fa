// Runs the trials of a client, and keeps a record of the last one for the check.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "datapath/client/gaps.hpp"
#include "datapath/client/loop.hpp"
#include "datapath/client/receiver.hpp"
#include "datapath/client/sender.hpp"
#include "datapath/client/traffic.hpp"
#include "measure/clock.hpp"

namespace dpubench::datapath {

/// The record of a trial that has ended.
struct TrialRecord {
  TrialSpec spec;
  std::uint64_t first = 0;  ///< number of the first packet that counts
  std::uint64_t due = 0;    ///< number behind the last packet that was due
  std::uint64_t end = 0;    ///< number behind the last packet offered to the port; less than `due` if the client was late
};

/// The client of one port. It runs trials of one traffic.
class TrialRunner {
 public:
  /// The port, the traffic and the expectation must outlive this object. @param expectation  may be null
  TrialRunner(Port& port, const Traffic& traffic, Expectation* expectation, const TrafficJob& job);

  /// Run a trial in this thread. @return the `trial` event @throws Error on a trial that this traffic does not have
  nlohmann::json run(const TrialSpec& spec, const std::atomic<bool>& stop);
  /// Run a trial by another clock.
  template <TrialClock Clock>
  nlohmann::json run(const TrialSpec& spec, const std::atomic<bool>& stop, Clock& clock) {
    DueTimes due = due_times(spec);
    const std::uint64_t drain_ns = begin(spec, due);
    // On one machine, client and server share this clock. It relates the server's gaps to this trial's times.
    begun_ns_ = measure::Clock::monotonic_raw_ns();
    run_loop(clock, sender_, receiver_, drain_ns, gaps_, stop);
    return end(spec, due);
  }

  /// Return the packets that the trial under way has sent, and received, so far; for another thread.
  [[nodiscard]] std::uint64_t sent_so_far() const { return sender_.progress().load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t received_so_far() const { return receiver_.progress().load(std::memory_order_relaxed); }

  /// Return the record of the last trial, or nothing before the first.
  [[nodiscard]] const std::optional<TrialRecord>& record() const { return record_; }
  /// Return the bits of packets that came back, and of packets that the port did not take.
  [[nodiscard]] const Bitmap& seen() const { return receiver_.seen(); }
  [[nodiscard]] const Bitmap& unsent() const { return sender_.unsent(); }
  /// Return the due times of a trial, from its first packet on.
  [[nodiscard]] DueTimes due_times(const TrialSpec& spec) const { return {spec, poisson_, traffic_.recorded}; }

 private:
  void require_possible(const TrialSpec& spec) const;
  /// Prepare a trial. @return the length of the drain
  std::uint64_t begin(const TrialSpec& spec, DueTimes& due);
  nlohmann::json end(const TrialSpec& spec, DueTimes& due);
  nlohmann::json event(const TrialSpec& spec, const TrialTimes& times);

  const Traffic& traffic_;
  Expectation* expectation_;
  std::uint32_t burst_;
  DueCycle poisson_;
  Writer writer_;
  Sender sender_;
  Receiver receiver_;
  Gaps gaps_;
  std::uint64_t begun_ns_ = 0;
  std::optional<TrialRecord> record_;
};

}  // namespace dpubench::datapath
