// The CPU time of one thread.
#pragma once

#include <time.h>

#include <cstdint>

namespace dpubench::measure {

/// Return the CPU time of the calling thread so far, in nanoseconds (clock_gettime(2), CLOCK_THREAD_CPUTIME_ID). getrusage(2)
/// would split it up, but only as the ticks of the kernel saw it.
inline std::uint64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace dpubench::measure
