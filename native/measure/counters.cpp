#include "measure/counters.hpp"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace dpubench::measure {
namespace {

namespace fs = std::filesystem;

// The kernel's own levels end at 2. At level 2 a thread may count itself in user mode
// (Documentation/admin-guide/sysctl/kernel.rst, perf_event_paranoid). Distributions add levels 3 and 4.
constexpr std::uint64_t kParanoidForbidsAll = 3;
constexpr int kTrialSteps = 10'000;
constexpr auto kPoll = std::chrono::microseconds(100);

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || rest.find_first_not_of(" \n") != std::string_view::npos) return std::nullopt;
  return value;
}

/// Return the number in a sysfs file. Each call reads from the start, so the kernel makes the content anew.
std::optional<std::uint64_t> number_in(const Descriptor& file) {
  std::array<char, 32> text{};
  const ssize_t size = pread(file.get(), text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  return number({text.data(), static_cast<std::size_t>(size)});
}

Descriptor open_file(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

/// Return the entries of a folder whose names begin with `prefix`, in a fixed order. Empty if the folder does not exist.
std::vector<fs::path> entries(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Return a hwmon chip's files such as energy1_input and power2_average (Documentation/hwmon/sysfs-interface.rst).
std::vector<fs::path> sensors(const fs::path& chip, std::string_view kind, std::string_view what = "_input") {
  std::vector<fs::path> found = entries(chip, kind);
  std::erase_if(found, [&](const fs::path& path) { return !path.filename().string().ends_with(what); });
  return found;
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Open a cycle counter. On failure, errno holds the error.
Descriptor open_cycles(bool user_mode_only) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.exclude_kernel = user_mode_only ? 1 : 0;
  attributes.exclude_hv = user_mode_only ? 1 : 0;
  return Descriptor(static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

/// Return the limit of open files after raising it as far as allowed. A stepped job holds a counter per thread and configuration.
rlim_t descriptor_limit() {
  static const rlim_t limit = [] {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return rlim_t{0};
    const rlim_t before = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : before;
  }();
  return limit;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

// --------------------------------------------------------------------------- cycles

std::optional<std::uint64_t> cycles_between(const CycleReading& before, const CycleReading& after) {
  const std::uint64_t enabled = after.enabled_ns - before.enabled_ns;
  const std::uint64_t running = after.running_ns - before.running_ns;
  if (enabled == 0 || running != enabled || after.cycles <= before.cycles) return std::nullopt;
  return after.cycles - before.cycles;
}

std::optional<CycleReading> CycleCounter::read() const noexcept {
  CycleReading reading;
  static_assert(sizeof reading == 3 * sizeof(std::uint64_t), "the kernel writes three words");
  if (::read(counter_.get(), &reading, sizeof reading) != static_cast<ssize_t>(sizeof reading)) return std::nullopt;
  return reading;
}

std::unique_ptr<CycleCounter> CycleCounter::open(CounterFault& why) {
  for (const bool user_mode_only : {false, true}) {
    Descriptor counter = open_cycles(user_mode_only);
    const int error = errno;
    if (counter.get() < 0) {
      if (!user_mode_only && (error == EACCES || error == EPERM)) continue;
      why = cycle_counter_fault(error, first_line("/proc/sys/kernel/perf_event_paranoid"));
      return nullptr;
    }
    auto opened = std::make_unique<CycleCounter>(std::move(counter), user_mode_only);
    // Some virtual machines open the counter and count nothing. Other programs on this machine may hold it.
    const auto before = opened->read();
    for (int i = 0; i < kTrialSteps; ++i) asm volatile("" : "+r"(i));
    const auto after = opened->read();
    if (before && after && cycles_between(*before, *after)) return opened;
    why = {"the cycle counter can be opened but does not count all the time",
           "end other programs that use hardware counters (perf); a virtual machine may lack them altogether"};
    return nullptr;
  }
  return nullptr;
}

CounterFault cycle_counter_fault(int error, std::string_view paranoid) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return {"the processor, or the virtual machine, offers no cycle counter",
              "measure on the bare machine, or give the virtual machine a performance monitoring unit"};
    case ENOSYS:
      return {"this kernel has no perf events", "use a kernel with CONFIG_PERF_EVENTS"};
    case EBUSY:
      return {"another program holds the cycle counter", "end other programs that use hardware counters (perf)"};
    case EACCES:
    case EPERM: {
      const auto level = number(paranoid);
      if (level && *level >= kParanoidForbidsAll) {
        return {"perf_event_paranoid = " + std::to_string(*level) + " forbids it", "sysctl kernel.perf_event_paranoid=1"};
      }
      // At the kernel's own levels a thread may count its own user mode. Thus a filter (seccomp) or a security module forbids it.
      return {"the system call perf_event_open is forbidden here", "run outside the container, or grant it CAP_PERFMON"};
    }
    default:
      return {"perf_event_open: " + std::generic_category().message(error),
              "measure without the counter, or see perf_event_open(2)"};
  }
}

std::vector<std::unique_ptr<CycleCounter>> open_cycle_counters(ThreadTeam& team) {
  // Leave half of the limit to the inputs and engines, which cannot work without files.
  const rlim_t room = descriptor_limit() / 2;
  std::vector<std::unique_ptr<CycleCounter>> counters(team.size());
  team.run([&](unsigned i) {
    CounterFault why;  // the machine description has the reason
    counters[i] = CycleCounter::open(why);
  });
  const bool all = std::all_of(counters.begin(), counters.end(), [&](const auto& counter) {
    return counter != nullptr && counter->user_mode_only() == counters.front()->user_mode_only() && counter->number() < room;
  });
  if (!all) counters.clear();
  return counters;
}

// --------------------------------------------------------------------------- energy

EnergyMeter::EnergyMeter(const fs::path& sysfs, std::chrono::milliseconds settle) {
  find_packages(sysfs);
  if (!available()) find_hwmon(sysfs, settle);
  if (available()) {
    fault_ = {};
    return;
  }
  std::set<std::string> power;
  for (const fs::path& chip : entries(sysfs / "class/hwmon", "hwmon")) {
    const bool has = !sensors(chip, "power").empty() || !sensors(chip, "power", "_average").empty();
    if (has) power.insert("hwmon " + first_line(chip / "name"));
  }
  if (!entries(sysfs / "class/ipmi", "ipmi").empty()) power.insert("IPMI");
  if (!power.empty()) {
    refuse("the power sensors (" + joined(power) + ") average over more than a window",
           "measure energy from outside, over a whole run");
  }
  if (fault_.reason.empty()) {
    refuse("no energy counter of the processor packages (RAPL in powercap, hwmon)",
           "measure on the bare machine, if its processor has one");
  }
}

void EnergyMeter::refuse(const std::string& reason, const std::string& remedy) {
  fault_.reason += (fault_.reason.empty() ? "" : "; ") + reason;
  if (fault_.remedy.empty()) fault_.remedy = remedy;
}

void EnergyMeter::find_packages(const fs::path& sysfs) {
  std::vector<Counter> found;
  for (const fs::path& zone : entries(sysfs / "class/powercap", "intel-rapl:")) {
    const std::string number_of_zone = zone.filename().string().substr(std::strlen("intel-rapl:"));
    if (!number(number_of_zone)) continue;  // intel-rapl:0:1 is a part of intel-rapl:0
    const std::string name = first_line(zone / "name");
    // "psys" is a top zone too, but it is the whole platform with the packages (Documentation/power/powercap/powercap.rst).
    if (!name.starts_with("package")) continue;
    Descriptor file = open_file(zone / "energy_uj");
    if (!number_in(file)) {
      // A sum over only some packages would look like the sum over all.
      return refuse("RAPL counters are there but cannot be read (" + name + ")",
                    "chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj, as root");
    }
    found.push_back({"RAPL " + name, std::move(file), number(first_line(zone / "max_energy_range_uj")).value_or(0)});
  }
  counters_ = std::move(found);
}

void EnergyMeter::find_hwmon(const fs::path& sysfs, std::chrono::milliseconds settle) {
  // The energy of graphics cards does not belong to the measurement.
  const std::set<std::string> foreign = {"amdgpu", "i915", "nouveau", "xe"};
  std::vector<Counter> found;
  std::set<std::string> chips;
  bool overlap = false;
  for (const fs::path& chip : entries(sysfs / "class/hwmon", "hwmon")) {
    const std::string name = first_line(chip / "name");
    if (foreign.contains(name)) continue;
    std::vector<fs::path> inputs = sensors(chip, "energy");
    if (inputs.empty()) continue;
    chips.insert(name);
    const auto label = [](const fs::path& input) {
      const std::string stem = input.filename().string();
      return first_line(input.parent_path() / (stem.substr(0, stem.rfind('_')) + "_label"));
    };
    // amd_energy counts every core, and every socket including its cores (Documentation/hwmon/amd_energy.rst).
    const auto of_socket = [&](const fs::path& input) { return label(input).starts_with("Esocket"); };
    if (std::any_of(inputs.begin(), inputs.end(), of_socket)) {
      std::erase_if(inputs, [&](const fs::path& input) { return !of_socket(input); });
    } else if (inputs.size() > 1) {
      overlap = true;
    }
    for (const fs::path& input : inputs) {
      Descriptor file = open_file(input);
      if (!number_in(file)) {
        return refuse("hwmon energy counters are there but cannot be read (" + name + ")",
                      "chmod a+r /sys/class/hwmon/hwmon*/energy*_input, as root");
      }
      const std::string which = label(input);
      found.push_back({"hwmon " + name + (which.empty() ? "" : " " + which), std::move(file), 0});
    }
  }
  if (overlap || chips.size() > 1) {
    return refuse("hwmon has several energy counters (" + joined(chips) + "), and one may include another: they are not summed",
                  "measure energy from outside, over a whole run");
  }
  for (const Counter& counter : found) {
    const auto first = number_in(counter.file);
    const auto until = std::chrono::steady_clock::now() + settle;
    bool advanced = false;
    while (!advanced && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(kPoll);
      const auto now = number_in(counter.file);
      advanced = now && now != first;
    }
    if (!advanced) {
      // A counter that stands still longer than a window charges the energy of one window to another.
      return refuse(
          counter.domain + " advances less often than every " + std::to_string(settle.count()) + " ms: a window is shorter",
          "measure energy from outside, over a whole run");
    }
  }
  counters_ = std::move(found);
}

std::vector<std::string> EnergyMeter::domains() const {
  std::vector<std::string> names;
  for (const Counter& counter : counters_) names.push_back(counter.domain);
  return names;
}

std::vector<std::uint64_t> EnergyMeter::read() const {
  std::vector<std::uint64_t> values;
  for (const Counter& counter : counters_) {
    const auto value = number_in(counter.file);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

std::optional<double> EnergyMeter::uj_between(const std::vector<std::uint64_t>& before,
                                              const std::vector<std::uint64_t>& after) const {
  if (before.empty() || before.size() != counters_.size() || after.size() != counters_.size()) return std::nullopt;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    if (after[i] >= before[i]) {
      sum += after[i] - before[i];
    } else if (counters_[i].range_uj >= before[i]) {  // it wrapped once: a range lasts for minutes at least
      sum += counters_[i].range_uj - before[i] + after[i];
    } else {
      return std::nullopt;
    }
  }
  return static_cast<double>(sum);
}

}  // namespace dpubench::measure
