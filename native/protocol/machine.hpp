// What machine this is, as far as an unprivileged process can read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace dpubench::protocol {

/// Data cache sizes in bytes of CPU 0; 0 where the kernel does not tell.
struct Caches {
  std::size_t l1d = 0;
  std::size_t l2 = 0;
  std::size_t l3 = 0;
};
Caches caches();

/// Bytes of memory that a process may still take without others having to give some up; 0 where the kernel does not tell.
std::uint64_t available_memory();

/// host, kernel, architecture, CPU model and flags, cores, caches, memory, page size, libc, governor, SMT, hypervisor, clock
/// source, load; keys that cannot be read are absent. `cycle_counter` and `energy` say what counts, or why nothing does;
/// `clock_estimate` what the clock is estimated by where no counter is, or why not.
nlohmann::json machine();
/// Compiler, flags, build type and revision of this program.
nlohmann::json build();

}  // namespace dpubench::protocol
