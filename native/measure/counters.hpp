// Counters of a machine beside the time: core cycles of a thread (perf events) and energy (powercap, hwmon). If there is no
// counter, this file keeps the reason, and the machine description shows it instead of figures.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/team.hpp"

namespace dpubench::measure {

/// The reason why there is no counter. Both texts are empty if there is one.
struct CounterFault {
  std::string reason;
  std::string remedy;
};

/// A file descriptor with one owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&&) = delete;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// The kernel's answer to a read of a counter with PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING (perf_event_open(2)).
struct CycleReading {
  std::uint64_t cycles = 0;
  std::uint64_t enabled_ns = 0;  ///< time of the thread on a CPU since the counter was opened
  std::uint64_t running_ns = 0;  ///< the part of enabled_ns in which the hardware counted
};

/// Return the cycles between two readings, or nothing when the counter did not count all the time in between. It may be shared
/// with others (multiplexed). A value scaled up from what it saw would be an estimate, not a count.
std::optional<std::uint64_t> cycles_between(const CycleReading& before, const CycleReading& after);

/// A counter of the core cycles of one thread on any CPU. It does not count while the thread does not run.
class CycleCounter {
 public:
  /// Open a counter for the calling thread. It counts user and kernel mode, or only user mode where only root may count the
  /// kernel's cycles. @returns null where no counter works; `why` then has the reason
  static std::unique_ptr<CycleCounter> open(CounterFault& why);
  /// Take over a descriptor. Each read of it gives the three words of a CycleReading.
  CycleCounter(Descriptor counter, bool user_mode_only) : counter_(std::move(counter)), user_mode_only_(user_mode_only) {}

  [[nodiscard]] std::optional<CycleReading> read() const noexcept;
  [[nodiscard]] bool user_mode_only() const { return user_mode_only_; }
  /// Return the number of the descriptor.
  [[nodiscard]] unsigned number() const { return static_cast<unsigned>(counter_.get()); }

 private:
  Descriptor counter_;
  bool user_mode_only_;
};

/// Return why perf_event_open failed with `error`. @param paranoid content of /proc/sys/kernel/perf_event_paranoid, or empty
CounterFault cycle_counter_fault(int error, std::string_view paranoid);

/// Open a counter on each thread of the team. Empty if a thread has none, or if so many are open that other files would lack
/// descriptors.
std::vector<std::unique_ptr<CycleCounter>> open_cycle_counters(ThreadTeam& team);

/// A meter of the energy of the processor packages, from their counters. The energy includes the packages' idle power and all
/// other load on them.
///
/// It uses all packages of the powercap RAPL zones. If there are none, it uses hwmon energy counters, if they are quick enough
/// for windows of a few ms and cannot overlap. It does not use power sensors: they average over more than a window.
class EnergyMeter {
 public:
  /// @param sysfs root of the kernel's tree; tests give another one
  /// @param settle time in which a hwmon counter must advance at least once
  explicit EnergyMeter(const std::filesystem::path& sysfs = "/sys",
                       std::chrono::milliseconds settle = std::chrono::milliseconds(10));

  [[nodiscard]] bool available() const { return !counters_.empty(); }
  /// Return the names of the summed counters, such as "RAPL package-0".
  [[nodiscard]] std::vector<std::string> domains() const;
  /// Return why the meter is not available.
  [[nodiscard]] const CounterFault& fault() const { return fault_; }

  /// Return the current values of all counters in uJ. Empty if one cannot be read.
  [[nodiscard]] std::vector<std::uint64_t> read() const;
  /// Return the energy in uJ between two readings, summed over all counters. Nothing when a reading is missing, or when a counter
  /// fell that is not known to wrap around.
  [[nodiscard]] std::optional<double> uj_between(const std::vector<std::uint64_t>& before,
                                                 const std::vector<std::uint64_t>& after) const;

 private:
  struct Counter {
    std::string domain;
    Descriptor file;
    std::uint64_t range_uj = 0;  ///< value after which it restarts at 0; 0: never
  };
  void find_packages(const std::filesystem::path& sysfs);
  void find_hwmon(const std::filesystem::path& sysfs, std::chrono::milliseconds settle);
  void refuse(const std::string& reason, const std::string& remedy);

  std::vector<Counter> counters_;
  CounterFault fault_;
};

}  // namespace dpubench::measure
