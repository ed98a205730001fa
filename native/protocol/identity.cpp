#include "protocol/identity.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace dpubench::protocol {
namespace {

namespace fs = std::filesystem;

/// A part number of MIDR_EL1 (Arm Architecture Reference Manual, D19.2.98), of one implementer.
struct Part {
  std::uint16_t implementer;
  std::uint16_t part;
  std::string_view name;
};

// Arm's parts come from the technical reference manual of each core, the others from the kernel
// (arch/arm64/include/asm/cputype.h) and util-linux (sys-utils/lscpu-arm.c). The list has servers, DPUs and the boards that are
// used instead of them.
constexpr std::array kParts = {
    Part{0x41, 0xd03, "Cortex-A53"},     Part{0x41, 0xd04, "Cortex-A35"},       Part{0x41, 0xd05, "Cortex-A55"},
    Part{0x41, 0xd07, "Cortex-A57"},     Part{0x41, 0xd08, "Cortex-A72"},       Part{0x41, 0xd09, "Cortex-A73"},
    Part{0x41, 0xd0a, "Cortex-A75"},     Part{0x41, 0xd0b, "Cortex-A76"},       Part{0x41, 0xd0c, "Neoverse N1"},
    Part{0x41, 0xd0d, "Cortex-A77"},     Part{0x41, 0xd0e, "Cortex-A76AE"},     Part{0x41, 0xd40, "Neoverse V1"},
    Part{0x41, 0xd41, "Cortex-A78"},     Part{0x41, 0xd42, "Cortex-A78AE"},     Part{0x41, 0xd44, "Cortex-X1"},
    Part{0x41, 0xd46, "Cortex-A510"},    Part{0x41, 0xd47, "Cortex-A710"},      Part{0x41, 0xd48, "Cortex-X2"},
    Part{0x41, 0xd49, "Neoverse N2"},    Part{0x41, 0xd4a, "Neoverse E1"},      Part{0x41, 0xd4b, "Cortex-A78C"},
    Part{0x41, 0xd4d, "Cortex-A715"},    Part{0x41, 0xd4e, "Cortex-X3"},        Part{0x41, 0xd4f, "Neoverse V2"},
    Part{0x41, 0xd80, "Cortex-A520"},    Part{0x41, 0xd81, "Cortex-A720"},      Part{0x41, 0xd82, "Cortex-X4"},
    Part{0x41, 0xd84, "Neoverse V3"},    Part{0x41, 0xd85, "Cortex-X925"},      Part{0x41, 0xd87, "Cortex-A725"},
    Part{0x41, 0xd8e, "Neoverse N3"},    Part{0x42, 0x516, "ThunderX2"},        Part{0x43, 0x0a1, "ThunderX 88XX"},
    Part{0x43, 0x0a2, "ThunderX 81XX"},  Part{0x43, 0x0a3, "ThunderX 83XX"},    Part{0x43, 0x0af, "ThunderX2 99XX"},
    Part{0x43, 0x0b1, "OcteonTX2 98XX"}, Part{0x43, 0x0b2, "OcteonTX2 96XX"},   Part{0x43, 0x0b3, "OcteonTX2 95XX"},
    Part{0x46, 0x001, "A64FX"},          Part{0x48, 0xd01, "TaiShan v110"},     Part{0x48, 0xd02, "TaiShan v120"},
    Part{0x4e, 0x004, "Carmel"},         Part{0x6d, 0xd49, "Azure Cobalt 100"}, Part{0xc0, 0xac3, "Ampere-1"},
    Part{0xc0, 0xac4, "Ampere-1a"},
};

/// Beginnings of the vendor or product names in the firmware of virtual machines.
constexpr std::array<std::string_view, 17> kVirtual = {
    "QEMU",
    "KVM",
    "Amazon EC2",
    "Google Compute Engine",
    "OpenStack",
    "VMware",
    "VMW",
    "innotek",
    "VirtualBox",
    "Xen",
    "Bochs",
    "Parallels",
    "BHYVE",
    "Apple Virtualization",
    "Virtual Machine",
    "Alibaba Cloud",
    "cloud-hypervisor",
};

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string arm_name(const std::string& implementer, const std::string& part) {
  const auto number = [](const std::string& text) { return std::strtoul(text.c_str(), nullptr, 0); };
  const auto found = std::find_if(kParts.begin(), kParts.end(), [&](const Part& known) {
    return known.implementer == number(implementer) && known.part == number(part);
  });
  return found != kParts.end() ? std::string(found->name) : "implementer " + implementer + " part " + part;
}

}  // namespace

std::vector<std::string> fields(const fs::path& file, std::string_view key) {
  std::vector<std::string> found;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon);
    name.erase(name.find_last_not_of(" \t") + 1);
    const auto start = line.find_first_not_of(" \t", colon + 1);
    if (name == key && start != std::string::npos) found.push_back(line.substr(start));
  }
  return found;
}

std::string cpu_name(const fs::path& root) {
  const fs::path cpuinfo = root / "proc/cpuinfo";
  const std::vector<std::string> implementers = fields(cpuinfo, "CPU implementer");
  const std::vector<std::string> parts = fields(cpuinfo, "CPU part");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(implementers.size(), parts.size()); ++i) {
    std::string name = arm_name(implementers[i], parts[i]);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  if (names.empty()) names = fields(cpuinfo, "model name");
  if (names.empty()) return {};
  if (implementers.empty()) return names.front();
  std::string joined = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) joined += " + " + names[i];
  return joined;
}

bool is_virtual_machine(const fs::path& root) {
  const std::vector<std::string> flags = fields(root / "proc/cpuinfo", "flags");
  if (!flags.empty() && (" " + flags.front() + " ").find(" hypervisor ") != std::string::npos) return true;
  if (!content(root / "sys/hypervisor/type").empty()) return true;
  const fs::path dmi = root / "sys/class/dmi/id";
  const std::string product = content(dmi / "product_name");
  if (product.ends_with(".metal") || product.find(".metal-") != std::string::npos) return false;  // Amazon machines without one
  for (const char* file : {"sys_vendor", "product_name", "board_vendor", "bios_vendor"}) {
    const std::string says = content(dmi / file);
    if (std::any_of(kVirtual.begin(), kVirtual.end(), [&](std::string_view sign) { return says.starts_with(sign); })) return true;
  }
  // Signs in a device tree: the hypervisor's node (Xen, KVM), or the board that QEMU makes up (hw/arm/virt.c).
  const fs::path tree = root / "proc/device-tree";
  std::error_code ignored;
  if (fs::exists(tree / "hypervisor/compatible", ignored) || fs::exists(tree / "fw-cfg", ignored)) return true;
  const std::string board = content(tree / "compatible");
  return board.find("linux,dummy-virt") != std::string::npos || board.find("qemu,") != std::string::npos;
}

}  // namespace dpubench::protocol
