// Identifies a machine from its kernel's files: the name of its processor, and whether it is virtual.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::protocol {

/// Return the values of all "key : value" lines of a file such as /proc/cpuinfo, in order. Lines without a value are left out.
std::vector<std::string> fields(const std::filesystem::path& file, std::string_view key);

/// Return the processor's name. Arm kernels give only numbers, so Arm names come from a list of parts. Several kinds of cores are
/// joined with " + ". The result has numbers for parts outside the list, and is empty if the kernel tells nothing.
/// @param root  "/", or a folder that replaces it
std::string cpu_name(const std::filesystem::path& root);

/// Return whether this machine runs on a hypervisor or an emulator. The signs are the same as in systemd-detect-virt(1): CPUID's
/// bit, Xen's folder, the firmware's tables (DMI), the device tree.
bool is_virtual_machine(const std::filesystem::path& root);

}  // namespace dpubench::protocol
