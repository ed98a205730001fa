// Describes this machine as far as an unprivileged process can.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace dpubench::protocol {

/// The data cache sizes of CPU 0 in bytes; 0 if the kernel does not tell.
struct Caches {
  std::size_t l1d = 0;
  std::size_t l2 = 0;
  std::size_t l3 = 0;
};
Caches caches();

/// Return the bytes of memory that a process can take without taking them from others. 0 if the kernel does not tell.
std::uint64_t available_memory();

/// Return host, kernel, architecture, CPU model and flags, cores, caches, memory, page size, libc, governor, SMT, hypervisor,
/// clock source, load. A value that cannot be read has no key. `cycle_counter` and `energy` name the counter, or why there is
/// none. `clock_estimate` names the basis of the clock estimate for machines without a counter, or why there is none.
nlohmann::json machine();
/// Return compiler, flags, build type and revision of this program.
nlohmann::json build();

}  // namespace dpubench::protocol
