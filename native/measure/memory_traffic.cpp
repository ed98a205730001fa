#include "measure/memory_traffic.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

namespace dpubench::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kControllers = "uncore_imc";
constexpr std::string_view kUnit = "MiB";
constexpr double kBytesOfUnit = 1048576;
/// Reads and writes of servers' controllers, and of clients'. The first pair that a machine has counts: others count the same
/// bytes.
constexpr std::array<std::array<const char*, 2>, 2> kEvents{
    {{"cas_count_read", "cas_count_write"}, {"data_reads", "data_writes"}}};

/// Return the first line of a file; empty where there is none.
std::string line_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

int open_event(std::uint32_t type, std::uint64_t config, int cpu) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const long fd = syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

/// Return the CPUs of a list such as "0,24" or "0-1": a controller has one in each socket.
std::vector<int> cpus_of(const std::string& list) {
  std::vector<int> cpus;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    int first = 0;
    int last = 0;
    const int got = std::sscanf(word.c_str(), "%d-%d", &first, &last);
    for (int cpu = first; got > 0 && cpu <= (got == 2 ? last : first); ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

/// Return the controllers' folders, in the order of their names.
std::vector<fs::path> controllers(const fs::path& sysfs) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(sysfs / "bus/event_source/devices", error)) {
    if (entry.path().filename().string().starts_with(kControllers)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::optional<std::uint64_t> event_config(std::string_view event, const std::function<std::string(const std::string&)>& format) {
  std::uint64_t config = 0;
  std::istringstream terms{std::string(event)};
  for (std::string term; std::getline(terms, term, ',');) {
    const std::size_t equals = term.find('=');
    const std::string place = format(term.substr(0, equals));
    unsigned low = 0;
    unsigned high = 0;
    const int got = std::sscanf(place.c_str(), "config:%u-%u", &low, &high);
    if (got < 1 || low > 63 || place.find(',') != std::string::npos) return std::nullopt;
    const std::uint64_t value = equals == std::string::npos ? 1 : std::strtoull(term.c_str() + equals + 1, nullptr, 0);
    config |= value << low;
  }
  return config;
}

MemoryMeter::MemoryMeter(const fs::path& sysfs, const Open& open) {
  const auto folders = controllers(sysfs);
  if (folders.empty()) {
    fault_ = {"the kernel lists no memory controllers (" + std::string(kControllers) + " in /sys/bus/event_source/devices)",
              "measure on the bare machine, if its processor has counters there"};
    return;
  }
  for (const auto& names : kEvents) {
    for (const fs::path& folder : folders) {
      const auto format = [&](const std::string& field) { return line_of(folder / "format" / field); };
      for (const char* const name : names) {
        const fs::path event = folder / "events" / name;
        const std::string text = line_of(event);
        if (text.empty() || line_of(event.string() + ".unit") != kUnit) continue;
        const auto config = event_config(text, format);
        if (!config) continue;
        const double bytes = std::strtod(line_of(event.string() + ".scale").c_str(), nullptr) * kBytesOfUnit;
        const auto type = static_cast<std::uint32_t>(std::strtoul(line_of(folder / "type").c_str(), nullptr, 10));
        for (const int cpu : cpus_of(line_of(folder / "cpumask"))) {
          const int fd = open ? open(type, *config, cpu) : open_event(type, *config, cpu);
          if (fd < 0) {
            counters_.clear();  // a part of the bytes would be no count
            fault_ = {"the kernel does not open the counters of memory controllers: " + std::generic_category().message(-fd),
                      "run as root, or sysctl kernel.perf_event_paranoid=0"};
            return;
          }
          counters_.push_back({Descriptor(fd), bytes});
        }
      }
    }
    if (!counters_.empty()) return;
  }
  fault_ = {"the memory controllers have no events for the bytes that they read and write", "use a newer kernel"};
}

std::vector<CycleReading> MemoryMeter::read() const {
  std::vector<CycleReading> readings(counters_.size());
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    if (::read(counters_[i].file.get(), &readings[i], sizeof readings[i]) != sizeof readings[i]) return {};
  }
  return readings;
}

std::optional<double> MemoryMeter::bytes_between(const std::vector<CycleReading>& before,
                                                 const std::vector<CycleReading>& after) const {
  if (!available() || before.size() != counters_.size() || after.size() != counters_.size()) return std::nullopt;
  double bytes = 0;
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    const std::uint64_t enabled = after[i].enabled_ns - before[i].enabled_ns;
    const std::uint64_t running = after[i].running_ns - before[i].running_ns;
    if (enabled == 0 || running != enabled || after[i].cycles < before[i].cycles) return std::nullopt;
    bytes += static_cast<double>(after[i].cycles - before[i].cycles) * counters_[i].bytes;
  }
  return bytes;
}

}  // namespace dpubench::measure
