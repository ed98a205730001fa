// What this machine is, beyond what every `hello` event says of it: CPUs and which are free, memory, NUMA nodes, NICs, a DPU's
// mode, disk.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::agent {

/// "0-2,5" -> {0, 1, 2, 5}; what is no such list gives what was read before the fault.
std::vector<int> parse_cpu_list(std::string_view text);

/// Share of its time (0..1) that each CPU was busy between two readings of /proc/stat; the position is the CPU's number.
std::vector<double> busy_between(const std::string& before, const std::string& after);

/// Schema `dpubench.target/1` (python/dpubench/schemas/target.schema.json). Keys that cannot be read are absent.
/// `root` stands for / so that tests can show another machine; what only the kernel of this one tells (which CPUs this process
/// may use, firmware of NICs) is left out then. `folder`: whose disk is looked at.
nlohmann::json describe(const std::filesystem::path& root, const std::filesystem::path& folder);

}  // namespace dpubench::agent
