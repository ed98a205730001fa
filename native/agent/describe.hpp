// Describes this machine in more detail than the `hello` event: CPUs and free CPUs, memory, NUMA nodes, NICs, a DPU's mode, disk.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::agent {

/// Parse a list of CPUs: "0-2,5" -> {0, 1, 2, 5}. On a fault, return the CPUs before it.
std::vector<int> parse_cpu_list(std::string_view text);

/// Return the share of time (0..1) that each CPU was busy between two readings of /proc/stat. The index is the CPU's number.
std::vector<double> busy_between(const std::string& before, const std::string& after);

/// Return the description in schema `dpubench.target/1` (python/dpubench/schemas/target.schema.json). A value that cannot be read
/// has no key. @param root  replaces /, so that tests can show another machine; the description then leaves out facts that only
/// this machine's kernel knows (the CPUs that this process may use, firmware of NICs)
/// @param folder  a folder on the disk to describe
nlohmann::json describe(const std::filesystem::path& root, const std::filesystem::path& folder);

}  // namespace dpubench::agent
