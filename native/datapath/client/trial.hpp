// One trial of the client, and what it keeps of it for the check.
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

/// What is known of a trial behind its end.
struct TrialRecord {
  TrialSpec spec;
  std::uint64_t first = 0;  ///< number of the first packet that counts
  std::uint64_t due = 0;    ///< behind the last one that was due
  std::uint64_t end = 0;    ///< behind the last one that was offered to the port: less than `due` when the client was late
};

/// The client of one port: runs trials of one traffic.
class TrialRunner {
 public:
  /// @param expectation  may be null. All must outlive it
  TrialRunner(Port& port, const Traffic& traffic, Expectation* expectation, const TrafficJob& job);

  /// Runs a trial in this thread. @return the `trial` event @throws Error on a trial that this traffic does not have
  nlohmann::json run(const TrialSpec& spec, const std::atomic<bool>& stop);
  /// The same by any clock.
  template <TrialClock Clock>
  nlohmann::json run(const TrialSpec& spec, const std::atomic<bool>& stop, Clock& clock) {
    DueTimes due = due_times(spec);
    const std::uint64_t drain_ns = begin(spec, due);
    // On one machine the server's gaps are set against this trial's times by the clock that both have.
    begun_ns_ = measure::Clock::monotonic_raw_ns();
    run_loop(clock, sender_, receiver_, drain_ns, gaps_, stop);
    return end(spec, due);
  }

  /// Packets sent and received of the trial under way; for another thread.
  [[nodiscard]] std::uint64_t sent_so_far() const { return sender_.progress().load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t received_so_far() const { return receiver_.progress().load(std::memory_order_relaxed); }

  /// Of the last trial; nothing before the first.
  [[nodiscard]] const std::optional<TrialRecord>& record() const { return record_; }
  /// Bits of packets that came back, and of those that the port did not take.
  [[nodiscard]] const Bitmap& seen() const { return receiver_.seen(); }
  [[nodiscard]] const Bitmap& unsent() const { return sender_.unsent(); }
  /// Due times of a trial, from its first packet on.
  [[nodiscard]] DueTimes due_times(const TrialSpec& spec) const { return {spec, poisson_, traffic_.recorded}; }

 private:
  void require_possible(const TrialSpec& spec) const;
  /// @return the length of the drain
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
