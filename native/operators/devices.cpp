#include "operators/devices.hpp"

#include <algorithm>
#include <map>
#include <regex>

#include "base/error.hpp"

namespace dpubench {
namespace {

namespace fs = std::filesystem;

std::vector<std::string>& names() {
  static std::vector<std::string> all;
  return all;
}

/// Prefixes of the names of DPDK's virtual devices.
constexpr const char* kVirtual = "(crypto|compress|dma|regex)_";

}  // namespace

bool is_pci_address(const std::string& name) {
  static const std::regex address("[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]");
  return std::regex_match(name, address);
}

std::string device_name(const std::string& named) {
  return named.substr(0, named.find(','));
}

void name_devices(std::vector<std::string> given) {
  static const std::regex virtual_device(std::string(kVirtual) + "[a-z0-9_]+");
  static const std::regex arguments("(,[A-Za-z0-9_=./:-]+)*");
  for (std::string& name : given) {
    std::string device = device_name(name);
    const std::string rest = name.substr(device.size());
    // lspci prints a PCI address without the domain 0000.
    if (std::count(device.begin(), device.end(), ':') == 1 && is_pci_address("0000:" + device)) device.insert(0, "0000:");
    const bool is_pci = is_pci_address(device);
    if ((!is_pci && !std::regex_match(device, virtual_device)) || !std::regex_match(rest, arguments)) {
      throw Error("device '" + name +
                  "' is not a device name: give a PCI address (0000:03:00.0), or a DPDK virtual device (crypto_openssl0, "
                  "compress_isal0, dma_skeleton0; arguments after a comma)");
    }
    if (is_pci) {
      const auto lower = [](unsigned char c) { return static_cast<char>(std::tolower(c)); };
      std::transform(device.begin(), device.end(), device.begin(), lower);
      if (!fs::exists(fs::path("/sys/bus/pci/devices") / device)) {
        throw Error("device " + device + ": this machine has no PCI device with this address: `lspci -D` lists its devices");
      }
    }
    name = device + rest;
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (device_name(given[i]) == device_name(given[j]))
        throw Error("device " + device_name(given[i]) + ": is named twice: name it once");
    }
  }
  names() = std::move(given);
}

std::span<const std::string> named_devices() {
  return names();
}

std::recursive_mutex& device_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

std::shared_ptr<void> shared_object(const std::string& name, const std::function<std::shared_ptr<void>()>& make) {
  // The map is never destroyed. The state that modules made of their libraries must not outlive those libraries, and must not be
  // torn down in their exit handlers.
  static auto& objects = *new std::map<std::string, std::shared_ptr<void>>;
  std::shared_ptr<void>& object = objects[name];
  if (object == nullptr) object = make();
  return object;
}

std::string driver_missing(std::span<const fs::path> folders, const std::string& driver, const std::string& library,
                           const std::string& package) {
  std::string searched;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (it->path().filename().string().starts_with(library + ".so")) return {};
    }
    searched += (searched.empty() ? "" : " or ") + folder.string();
  }
  return "the driver " + driver + " is missing: no " + library + ".so in " + searched + " (Debian package " + package + ")";
}

fs::path program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace dpubench
