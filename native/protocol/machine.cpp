#include "protocol/machine.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "build_info.hpp"
#include "measure/counters.hpp"
#include "measure/processor.hpp"
#include "protocol/identity.hpp"
#include "revision.hpp"

namespace dpubench::protocol {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Return the bytes in a text such as "2048K".
std::size_t parse_cache_size(const std::string& text) {
  std::size_t value = 0;
  char suffix = 0;
  std::istringstream in(text);
  in >> value >> suffix;
  if (suffix == 'K') value <<= 10;
  if (suffix == 'M') value <<= 20;
  return value;
}

/// Return the first value of fields(), or an empty text.
std::string field(const fs::path& path, std::string_view key) {
  const std::vector<std::string> found = fields(path, key);
  return found.empty() ? std::string() : found.front();
}

void put(json& into, const char* key, const std::string& value) {
  if (!value.empty()) into[key] = value;
}

/// Return the number of physical cores among the online CPUs. 0 if the kernel does not tell.
std::size_t cores_online() {
  std::set<std::string> cores;
  std::error_code error;
  for (fs::directory_iterator it("/sys/devices/system/cpu", error), end; !error && it != end; it.increment(error)) {
    // Hyper-threads of a core list the same CPUs. An offline CPU has no such file.
    std::string siblings = first_line(it->path() / "topology/core_cpus_list");
    if (siblings.empty()) siblings = first_line(it->path() / "topology/thread_siblings_list");  // before Linux 5.3
    if (!siblings.empty()) cores.insert(siblings);
  }
  return cores.size();
}

json fault(const measure::CounterFault& why) {
  return {{"unavailable", why.reason}, {"remedy", why.remedy}};
}

json energy() {
  const measure::EnergyMeter meter;
  if (!meter.available()) return fault(meter.fault());
  return {{"domains", meter.domains()}};
}

/// Describe the cycle counter. In a virtual machine, its counts are whatever the hypervisor shows or the emulator makes up.
json cycle_counter(bool is_virtual) {
  measure::CounterFault why;
  const auto counter = measure::CycleCounter::open(why);
  if (counter == nullptr) return fault(why);
  const std::string source = is_virtual ? "counter of the virtual machine" : "hardware counter";
  return {{"source", source + (counter->user_mode_only() ? ", user mode only" : "")}};
}

json clock_estimate() {
  const measure::MultiplyLatency latency = measure::multiply_latency(measure::signature());
  if (latency.cycles == 0) return {{"unavailable", latency.reason}};
  return {{"multiply_cycles", latency.cycles}, {"processor", latency.processor}, {"source", latency.source}};
}

}  // namespace

Caches caches() {
  Caches found;
  std::error_code error;
  for (fs::directory_iterator it("/sys/devices/system/cpu/cpu0/cache", error), end; !error && it != end; it.increment(error)) {
    const std::string level = first_line(it->path() / "level");
    const std::string type = first_line(it->path() / "type");
    const std::size_t size = parse_cache_size(first_line(it->path() / "size"));
    if (type == "Instruction" || size == 0) continue;
    if (level == "1") found.l1d = size;
    if (level == "2") found.l2 = size;
    if (level == "3") found.l3 = size;
  }
  const auto fallback = [](std::size_t& size, int name) {
    const long value = sysconf(name);
    if (size == 0 && value > 0) size = static_cast<std::size_t>(value);
  };
  fallback(found.l1d, _SC_LEVEL1_DCACHE_SIZE);
  fallback(found.l2, _SC_LEVEL2_CACHE_SIZE);
  fallback(found.l3, _SC_LEVEL3_CACHE_SIZE);
  return found;
}

std::uint64_t available_memory() {
  std::uint64_t kib = 0;
  std::istringstream(field("/proc/meminfo", "MemAvailable")) >> kib;
  std::uint64_t bytes = kib << 10;
  // A container's limit may be below the machine's memory. "max" is no number.
  std::uint64_t limit = 0;
  std::istringstream(first_line("/sys/fs/cgroup/memory.max")) >> limit;
  if (limit != 0) bytes = bytes == 0 ? limit : std::min(bytes, limit);
  return bytes;
}

json machine() {
  json m;
  utsname names{};
  if (uname(&names) == 0) {
    m["host"] = names.nodename;
    m["kernel"] = names.release;
    m["architecture"] = names.machine;
  }
  put(m, "cpu", cpu_name("/"));
  std::string flags = field("/proc/cpuinfo", "flags");
  if (flags.empty()) flags = field("/proc/cpuinfo", "Features");
  put(m, "cpu_flags", flags);
  m["cpus_online"] = sysconf(_SC_NPROCESSORS_ONLN);
  if (const std::size_t cores = cores_online(); cores != 0) m["cores_online"] = cores;
  const Caches c = caches();
  m["l1d_bytes"] = c.l1d;
  m["l2_bytes"] = c.l2;
  m["l3_bytes"] = c.l3;
  m["page_bytes"] = sysconf(_SC_PAGESIZE);
  m["memory_bytes"] = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
#if defined(__GLIBC__)
  m["libc"] = std::string("glibc ") + gnu_get_libc_version();
#endif
  put(m, "os", [] {
    std::ifstream in("/etc/os-release");
    for (std::string line; std::getline(in, line);) {
      if (line.rfind("PRETTY_NAME=\"", 0) == 0) return line.substr(13, line.size() - 14);
    }
    return std::string();
  }());
  put(m, "governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  put(m, "smt", first_line("/sys/devices/system/cpu/smt/control"));
  put(m, "isolated_cpus", first_line("/sys/devices/system/cpu/isolated"));
  put(m, "kernel_clocksource", first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
  put(m, "microcode", field("/proc/cpuinfo", "microcode"));
  const bool is_virtual = is_virtual_machine("/");
  m["virtual_machine"] = is_virtual;
  m["load_average"] = first_line("/proc/loadavg");
  m["cycle_counter"] = cycle_counter(is_virtual);
  m["clock_estimate"] = clock_estimate();
  m["energy"] = energy();
  return m;
}

json build() {
  return {{"compiler", kBuildCompiler}, {"flags", kBuildFlags}, {"type", kBuildType}, {"revision", kBuildRevision}};
}

}  // namespace dpubench::protocol
