// The processor times of this machine, as its kernel counts them (proc(5), /proc/stat).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace dpubench::measure {

/// Return the sums over all online CPUs since the machine began, in nanoseconds: user, nice, system, idle, iowait, irq, softirq,
/// steal. The kernel counts in ticks of usually 10 ms. @param stat  content of /proc/stat @param ticks_per_s sysconf(_SC_CLK_TCK)
/// @throws Error when the text has no such line
nlohmann::json cpu_times(std::string_view stat, long ticks_per_s);

/// Return cpu_times() of now, with `at_ns`, the time of a clock that never goes back. @throws Error
nlohmann::json cpu_times_now();

}  // namespace dpubench::measure
