// tap: an interface of the kernel whose other end is this port. It exists as long as the port.
#include <net/if.h>

#include <filesystem>

#include "base/error.hpp"
#include "datapath/ports/eth.hpp"
#include "datapath/ports/kernel_interface.hpp"

namespace dpubench::datapath {
namespace {

class Tap final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "tap",
        .summary = "a kernel interface of its own, which others may then use",
        .arguments = {{"interface", "name of the interface to make", "", true}},
        .needs_root = true,
        .kernel_receives = true,
    };
    return info;
  }

  [[nodiscard]] Reason unavailable() const override {
    if (Reason reason = net_driver_missing("tap"); !reason.reason.empty()) return reason;
    if (Reason reason = capability_missing(kCapNetAdmin, "CAP_NET_ADMIN"); !reason.reason.empty()) return reason;
    std::error_code none;
    if (std::filesystem::exists("/dev/net/tun", none)) return {};
    return {"there is no /dev/net/tun", "load the kernel's module (modprobe tun)"};
  }

  [[nodiscard]] std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const override {
    const std::string interface = argument(info(), spec, "interface");
    if (interface.size() >= IFNAMSIZ) {
      throw Error("port tap: interface=" + interface + ": must have at most " + std::to_string(IFNAMSIZ - 1) + " characters");
    }
    if (if_nametoindex(interface.c_str()) != 0) {
      throw Error("port tap: there is an interface '" + interface + "' already; give another name");
    }
    EthOptions options;
    options.info = {.kind = "tap",
                    .driver = "net_tap",
                    .detail = interface,
                    .is_virtual = true,
                    .shares_buffers = false,
                    .interface = interface};
    options.sets_mtu = true;
    auto device = std::make_unique<VirtualDevice>("net_tap", "iface=" + interface);
    const std::string name = device->name();
    return std::make_unique<EthPort>(std::move(device), name, resources, std::move(options));
  }
};

DPUBENCH_PORT(Tap);

}  // namespace
}  // namespace dpubench::datapath
