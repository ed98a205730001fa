// Counts the bytes that a machine's memory controllers read and write, where the kernel's performance monitoring knows them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/counters.hpp"

namespace dpubench::measure {

/// A meter of the bytes of memory controllers. They count all that happens on the machine, not one process.
///
/// It uses the events of Intel's controllers that the kernel lists with their unit (uncore_imc in
/// /sys/bus/event_source/devices). Other processors' controllers have events of other names, which it does not guess.
class MemoryMeter {
 public:
  /// A function that opens an event. @return a descriptor, or the negative error
  using Open = std::function<int(std::uint32_t type, std::uint64_t config, int cpu)>;

  /// @param sysfs root of the kernel's tree @param open tests give another one; empty: perf_event_open(2)
  explicit MemoryMeter(const std::filesystem::path& sysfs = "/sys", const Open& open = {});

  [[nodiscard]] bool available() const { return !counters_.empty(); }
  /// Return why the meter is not available.
  [[nodiscard]] const CounterFault& fault() const { return fault_; }
  /// Return the values of all counters; `cycles` holds the counts. Empty if one cannot be read.
  [[nodiscard]] std::vector<CycleReading> read() const;
  /// Return the bytes between two readings. Nothing when a reading is missing or a counter did not count all the time.
  [[nodiscard]] std::optional<double> bytes_between(const std::vector<CycleReading>& before,
                                                    const std::vector<CycleReading>& after) const;

 private:
  struct Counter {
    Descriptor file;
    double bytes = 0;  ///< of one count
  };
  std::vector<Counter> counters_;
  CounterFault fault_;
};

/// Return the configuration of an event, such as "event=0x04,umask=0x0f". @param format reads a field's place, such as
/// "config:8-15" @return nothing when it has a field that this function does not know
std::optional<std::uint64_t> event_config(std::string_view event, const std::function<std::string(const std::string&)>& format);

}  // namespace dpubench::measure
