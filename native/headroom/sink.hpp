// The receiving side of a job: a thread that takes packets and counts those of the trial.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "headroom/outlet.hpp"

namespace dpubench::headroom {

/// The accounts of a sink for one trial.
struct Received {
  Tally tally;
  std::uint64_t dropped = 0;  ///< by the kernel, for want of room at the sink, as far as it tells
  double busy_ns = 0;         ///< CPU time of the sink in the trial
  double elapsed_ns = 0;      ///< from begin to collect
};

/// A sink. It polls while a trial is under way and sleeps otherwise.
class Sink {
 public:
  /// Open the way in on a thread of its own.
  /// @param cpu  of the thread; negative: any
  /// @param own  of the sender in whose process the sink is, and with which it shares its CPU; else null
  /// @throws Error
  Sink(Link& link, int cpu, const OwnSink* own);
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink();

  /// Begin to count the packets of a trial. What still came of an earlier one counts as stale.
  void begin(std::uint32_t trial);
  /// Wait until `expected` packets came or none comes any more, and return the accounts. @throws Error unless `trial` began last
  Received collect(std::uint32_t trial, std::uint64_t expected);

 private:
  struct Shared;
  void serve(Shared& shared, Link& link, int cpu, const OwnSink* own);

  std::unique_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace dpubench::headroom
