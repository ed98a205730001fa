// xdp: an interface whose packets an eBPF program in its driver answers (engine xdp of a workload's stage). No packet comes
// here. The port names the interface and reads the driver's counters.
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>

#include "datapath/frame/size.hpp"
#include "datapath/ports/eth.hpp"
#include "datapath/ports/kernel_interface.hpp"

namespace dpubench::datapath {
namespace {

/// A socket of this process's network namespace, through which the port asks the kernel about interfaces.
class Inquiry {
 public:
  explicit Inquiry(std::string interface)
      : interface_(std::move(interface)), fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;
  ~Inquiry() {
    if (fd_ >= 0) close(fd_);
  }
  /// Ask about the interface. Return false when the kernel refuses; errno has the reason.
  [[nodiscard]] bool ask(unsigned long question, ifreq& answer) const noexcept {
    std::memcpy(answer.ifr_name, interface_.c_str(), std::min(interface_.size() + 1, sizeof answer.ifr_name));
    return fd_ >= 0 && ioctl(fd_, question, &answer) == 0;
  }
  [[nodiscard]] bool ask_driver(void* command) const noexcept {
    ifreq request{};
    request.ifr_data = static_cast<char*>(command);
    return ask(SIOCETHTOOL, request);
  }

 private:
  std::string interface_;
  int fd_;
};

/// A command of linux/ethtool.h with an array behind it.
template <class Head>
class WithTail {
 public:
  WithTail(std::uint32_t command, std::size_t tail_bytes) : bytes_((sizeof(Head) + tail_bytes + 7) / 8) { head().cmd = command; }
  Head& head() { return *reinterpret_cast<Head*>(bytes_.data()); }
  [[nodiscard]] const std::byte* tail() const { return reinterpret_cast<const std::byte*>(bytes_.data()) + sizeof(Head); }

 private:
  std::vector<std::uint64_t> bytes_;
};

class XdpPort final : public Port {
 public:
  explicit XdpPort(const std::string& interface) : inquiry_(interface) {
    ethtool_drvinfo driver{};
    driver.cmd = ETHTOOL_GDRVINFO;
    const bool has_driver = inquiry_.ask_driver(&driver);
    ifreq mtu{};
    info_.kind = "xdp";
    info_.driver = has_driver ? std::string(driver.driver, strnlen(driver.driver, sizeof driver.driver)) : "unknown";
    info_.detail = "interface " + interface;
    info_.interface = interface;
    if (inquiry_.ask(SIOCGIFMTU, mtu)) info_.mtu_frame = static_cast<std::uint32_t>(mtu.ifr_mtu) + kMtuOverhead;
    info_.is_virtual = info_.driver == "veth" || info_.driver == "tun";
  }

  [[nodiscard]] const PortInfo& info() const override { return info_; }
  std::uint16_t receive(std::uint16_t /*queue*/, rte_mbuf** /*packets*/, std::uint16_t /*n*/) noexcept override { return 0; }
  std::uint16_t transmit(std::uint16_t /*queue*/, rte_mbuf* const* /*packets*/, std::uint16_t /*n*/) noexcept override {
    return 0;
  }
  [[nodiscard]] bool is_up() const noexcept override {
    ifreq answer{};
    return inquiry_.ask(SIOCGIFFLAGS, answer) && (answer.ifr_flags & IFF_RUNNING) != 0;
  }

  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const override {
    std::map<std::string, std::uint64_t> all;
    WithTail<ethtool_sset_info> size(ETHTOOL_GSSET_INFO, sizeof(std::uint32_t));
    size.head().sset_mask = std::uint64_t{1} << ETH_SS_STATS;
    if (!inquiry_.ask_driver(&size.head()) || size.head().sset_mask == 0) return all;
    std::uint32_t n = 0;
    std::memcpy(&n, size.tail(), sizeof n);
    WithTail<ethtool_gstrings> names(ETHTOOL_GSTRINGS, std::size_t{n} * ETH_GSTRING_LEN);
    names.head().string_set = ETH_SS_STATS;
    names.head().len = n;
    WithTail<ethtool_stats> values(ETHTOOL_GSTATS, std::size_t{n} * sizeof(std::uint64_t));
    values.head().n_stats = n;
    if (!inquiry_.ask_driver(&names.head()) || !inquiry_.ask_driver(&values.head())) return all;
    for (std::uint32_t i = 0; i < n; ++i) {
      const char* const name = reinterpret_cast<const char*>(names.tail()) + std::size_t{i} * ETH_GSTRING_LEN;
      std::uint64_t value = 0;
      std::memcpy(&value, values.tail() + std::size_t{i} * sizeof value, sizeof value);
      all[std::string(name, strnlen(name, ETH_GSTRING_LEN))] = value;
    }
    return all;
  }

 private:
  Inquiry inquiry_;
  PortInfo info_;
};

class Xdp final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "xdp",
        .summary =
            "an interface of the kernel on which the engine xdp of a workload answers in the driver; the other end of a veth "
            "needs an XDP program too (af_xdp)",
        .arguments = {{"interface", "name of the interface, in this process's network namespace", "", true}},
        .needs_root = true,
        .kernel_receives = true,
        .answers_elsewhere = true,
    };
    return info;
  }
  [[nodiscard]] Reason unavailable() const override {
    if (!std::ifstream("/proc/sys/kernel/unprivileged_bpf_disabled"))
      return {"this kernel has no eBPF", "use a kernel with CONFIG_BPF_SYSCALL"};
    return capability_missing(kCapNetAdmin, "CAP_NET_ADMIN");
  }
  [[nodiscard]] std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const override {
    const std::string interface = argument(info(), spec, "interface");
    require_interface(info().name, interface, resources.max_frame);
    return std::make_unique<XdpPort>(interface);
  }
};

DPUBENCH_PORT(Xdp);

}  // namespace
}  // namespace dpubench::datapath
