// The device of embedded placement: packets come in on one side and leave on the other. Either a process forwards them between
// ports of DPDK (forward.hpp), or the kernel does between its interfaces (kernel.hpp).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "headroom/job.hpp"
#include "headroom/work.hpp"

namespace dpubench::headroom {

/// The polls of a process that forwards, over all threads. Times are of the stretch in which packets came.
struct Polls {
  std::uint64_t polls = 0;
  std::uint64_t empty = 0;   ///< polls that found no packet
  std::uint64_t bursts = 0;  ///< polls that found some
  double busy_ns = 0;        ///< time of the polls that found some
  double idle_ns = 0;        ///< time of the empty polls
  double waited_ns = 0;      ///< time until the next poll was due (spacing)
};

/// The sums over the numbers of a trial's packets, where they were read.
struct NumbersSeen {
  std::uint64_t packets = 0;  ///< of the trial
  std::uint64_t sum = 0;      ///< of their numbers
};

/// The accounts of a device for one trial.
struct Forwarded {
  std::uint64_t received = 0;   ///< packets that came in
  std::uint64_t bytes = 0;      ///< their bytes, without FCS; 0 where the kernel forwards
  std::uint64_t forwarded = 0;  ///< packets that the way out took
  std::uint64_t dropped = 0;    ///< packets that it did not take
  double inserted_ns = 0;  ///< work that was done beside: of a process its time; beside the kernel, the time that it takes alone
  double elapsed_ns = 0;   ///< of the stretch in which packets came
  double cpu_ns = 0;       ///< CPU time of the threads, from the begin of the trial to its end
  double open_ns = 0;      ///< time of the threads, from the begin of the trial to its end
  std::optional<Polls> polls;
  std::optional<NumbersSeen> numbers;
  std::optional<std::uint64_t> core_cycles;  ///< in `cpu_ns`, where each thread has a counter that counted throughout
  std::size_t table_bytes = 0;               ///< of work that walks through a table; else 0
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// Begin a trial. Packets can come when it returns. @throws Error when one is under way, or it is none of this job
  virtual void begin(const TrialSpec& spec) = 0;
  /// Wait until `expected` packets came or none comes any more, and return the accounts. @throws Error unless `trial` began last
  virtual Forwarded collect(std::uint32_t trial, std::uint64_t expected) = 0;
  /// Return the fields of a port in the event `opened`.
  [[nodiscard]] virtual nlohmann::json described() const = 0;
  [[nodiscard]] virtual Pace pace() const = 0;
};

}  // namespace dpubench::headroom
