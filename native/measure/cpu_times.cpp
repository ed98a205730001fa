#include "measure/cpu_times.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/error.hpp"

namespace dpubench::measure {

using nlohmann::json;

json cpu_times(std::string_view stat, long ticks_per_s) {
  constexpr std::array kModes = {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"};
  constexpr std::string_view kSum = "cpu ";  // the first line; those of single CPUs have a number
  if (!stat.starts_with(kSum) || ticks_per_s <= 0) throw Error("/proc/stat: has no sum over all CPUs: mount /proc");
  std::istringstream line{std::string(stat.substr(kSum.size(), stat.find('\n') - kSum.size()))};
  const auto tick_ns = static_cast<std::uint64_t>(1'000'000'000 / ticks_per_s);
  json times;
  for (const char* mode : kModes) {
    std::uint64_t ticks = 0;
    line >> ticks;  // kernels of long ago have fewer modes; the rest is 0
    times[std::string(mode) + "_ns"] = ticks * tick_ns;
  }
  return times;
}

json cpu_times_now() {
  std::ifstream in("/proc/stat", std::ios::binary);
  json times = cpu_times(std::string(std::istreambuf_iterator<char>(in), {}), sysconf(_SC_CLK_TCK));
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  times["at_ns"] = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return times;
}

}  // namespace dpubench::measure
