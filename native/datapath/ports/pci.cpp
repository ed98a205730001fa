// pci: a network card by its address, with its user-space driver.
#include <rte_dev.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "datapath/ports/eth.hpp"
#include "operators/devices.hpp"

namespace dpubench::datapath {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDevices = "/sys/bus/pci/devices";
/// Kernel drivers through which DPDK reaches a device. Some give the device away, some share it with the kernel.
constexpr std::array kUsable = {"vfio-pci", "uio_pci_generic", "igb_uio", "mlx4_core", "mlx5_core", "sfc"};
/// Drivers of devices that a hypervisor emulates.
constexpr std::array kParavirtual = {"net_virtio", "net_vmxnet3", "net_netvsc", "net_avp"};

std::string text_of(const fs::path& file) {
  std::string text;
  std::getline(std::ifstream(file) >> std::ws, text);
  return text;
}

/// Return the kernel's driver of a device; empty if it has none.
std::string driver_of(const fs::path& device) {
  std::error_code none;
  return fs::read_symlink(device / "driver", none).filename();
}

/// Return the addresses of the machine's network cards (PCI class 02, network controller).
std::vector<std::string> network_cards() {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& device : fs::directory_iterator(kDevices, none)) {
    if (text_of(device.path() / "class").starts_with("0x02")) found.push_back(device.path().filename());
  }
  return found;
}

class Pci final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "pci",
        .summary = "a network card by its address; needs huge pages and a driver such as vfio-pci",
        .arguments = {{"address", "PCI address, such as 0000:03:00.0", "", true}},
        .is_virtual = false,
        .needs_root = true,
    };
    return info;
  }

  [[nodiscard]] Reason unavailable() const override {
    if (network_cards().empty()) return {"this machine has no network card on PCI", "use a virtual link, such as memif"};
    return {};
  }

  [[nodiscard]] std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const override {
    const std::string address = argument(info(), spec, "address");
    check(address);
    std::uint16_t port = 0;
    if (rte_eth_dev_get_port_by_name(address.c_str(), &port) != 0) {
      throw Error("port pci: DPDK has no driver for the device " + address + ", or may not open it (dpdk-devbind.py --status)");
    }
    rte_eth_dev_info device{};
    rte_eth_dev_info_get(port, &device);
    const std::string driver = device.driver_name == nullptr ? "unknown driver" : device.driver_name;
    EthOptions options;
    options.info = {.kind = "pci", .driver = driver, .detail = address};
    options.info.is_virtual = std::find(kParavirtual.begin(), kParavirtual.end(), driver) != kParavirtual.end();
    return std::make_unique<EthPort>(nullptr, address, resources, std::move(options));
  }

 private:
  /// Check the address. @throws Error unless there is such a device and DPDK may use it
  static void check(const std::string& address) {
    if (!is_pci_address(address)) {
      throw Error("port pci: address=" + address + ": must be domain:bus:device.function, such as 0000:03:00.0");
    }
    const fs::path device = fs::path(kDevices) / address;
    std::error_code none;
    if (!fs::exists(device, none)) {
      std::string cards;
      for (const std::string& card : network_cards()) cards += (cards.empty() ? "" : ", ") + card;
      throw Error("port pci: there is no PCI device " + address + " here; the network cards are " +
                  (cards.empty() ? "none" : cards));
    }
    const std::string driver = driver_of(device);
    if (std::find(kUsable.begin(), kUsable.end(), driver) == kUsable.end()) {
      throw Error("port pci: the device " + address + " belongs to " +
                  (driver.empty() ? "no driver" : "the kernel's driver " + driver) +
                  ": bind it with `dpdk-devbind.py -b vfio-pci " + address + "`");
    }
  }
};

DPUBENCH_PORT(Pci);

}  // namespace
}  // namespace dpubench::datapath
