// What a machine is, from what its kernel tells of it: the name of its processor, and whether it is a virtual one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::protocol {

/// Values of all "key : value" lines of a file such as /proc/cpuinfo, in their order; lines without a value are left out.
std::vector<std::string> fields(const std::filesystem::path& file, std::string_view key);

/// The processor by its name. Of Arm, whose kernels give numbers, from a list of parts; several kinds of cores are joined with
/// " + ". Numbers where the list has no name; empty where the kernel says nothing.
/// @param root  "/", or a folder that stands for it
std::string cpu_name(const std::filesystem::path& root);

/// Whether a hypervisor or an emulator is underneath. The signs are those of systemd-detect-virt(1): CPUID's bit, Xen's folder,
/// the firmware's tables (DMI), the device tree.
bool is_virtual_machine(const std::filesystem::path& root);

}  // namespace dpubench::protocol
