// What a machine counts beside the time: core cycles of a thread (perf events) and energy (powercap, hwmon). Where it does not,
// the reason is kept: it stands in the machine description instead of figures.
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

/// Why there is no counter; both texts are empty where there is one.
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

/// What the kernel answers to a read of a counter opened with PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING (perf_event_open(2)).
struct CycleReading {
  std::uint64_t cycles = 0;
  std::uint64_t enabled_ns = 0;  ///< time of the thread on a CPU since the counter was opened ...
  std::uint64_t running_ns = 0;  ///< ... and the part of it in which the hardware counted
};

/// Cycles between two readings. Nothing where the counter did not count all the time between them (it was shared with others:
/// multiplexed): scaling up what it saw would be an estimate under a counter's name.
std::optional<std::uint64_t> cycles_between(const CycleReading& before, const CycleReading& after);

/// Core cycles of one thread, whichever CPU it runs on; cycles in which it does not run are not counted.
class CycleCounter {
 public:
  /// For the calling thread: cycles in user and kernel mode; where only root may count the kernel's, in user mode only.
  /// Null where there is none that counts; `why` then has the reason.
  static std::unique_ptr<CycleCounter> open(CounterFault& why);
  /// Takes over a descriptor that gives the three words of a CycleReading at each read.
  CycleCounter(Descriptor counter, bool user_mode_only) : counter_(std::move(counter)), user_mode_only_(user_mode_only) {}

  [[nodiscard]] std::optional<CycleReading> read() const noexcept;
  [[nodiscard]] bool user_mode_only() const { return user_mode_only_; }
  /// Of its descriptor.
  [[nodiscard]] unsigned number() const { return static_cast<unsigned>(counter_.get()); }

 private:
  Descriptor counter_;
  bool user_mode_only_;
};

/// Why perf_event_open failed with `error`, in words. @param paranoid content of /proc/sys/kernel/perf_event_paranoid, or empty
CounterFault cycle_counter_fault(int error, std::string_view paranoid);

/// A counter on each thread of the team; empty where a thread has none, or where so many are open that other files would lack
/// room.
std::vector<std::unique_ptr<CycleCounter>> open_cycle_counters(ThreadTeam& team);

/// Energy of the processor packages, as their counters tell. It includes the packages' idle power and whatever else runs on them.
///
/// Used are the packages of the powercap RAPL zones, all of them; where there are none, hwmon energy counters, if they are quick
/// enough for windows of a few ms and cannot overlap. Sensors of power average over longer than a window and are not used.
class EnergyMeter {
 public:
  /// @param sysfs where the kernel's tree is; tests show it another
  /// @param settle a hwmon counter has to advance at least once in this time
  explicit EnergyMeter(const std::filesystem::path& sysfs = "/sys",
                       std::chrono::milliseconds settle = std::chrono::milliseconds(10));

  [[nodiscard]] bool available() const { return !counters_.empty(); }
  /// What is summed, such as "RAPL package-0".
  [[nodiscard]] std::vector<std::string> domains() const;
  /// Why it is not available.
  [[nodiscard]] const CounterFault& fault() const { return fault_; }

  /// Every counter now, in uJ; empty where one cannot be read.
  [[nodiscard]] std::vector<std::uint64_t> read() const;
  /// Energy in uJ between two readings, of all counters. Nothing where a reading is missing, or where a counter fell that is not
  /// known to wrap around.
  [[nodiscard]] std::optional<double> uj_between(const std::vector<std::uint64_t>& before,
                                                 const std::vector<std::uint64_t>& after) const;

 private:
  struct Counter {
    std::string domain;
    Descriptor file;
    std::uint64_t range_uj = 0;  ///< value after which it starts again at 0; 0: never
  };
  void find_packages(const std::filesystem::path& sysfs);
  void find_hwmon(const std::filesystem::path& sysfs, std::chrono::milliseconds settle);
  void refuse(const std::string& reason, const std::string& remedy);

  std::vector<Counter> counters_;
  CounterFault fault_;
};

}  // namespace dpubench::measure
