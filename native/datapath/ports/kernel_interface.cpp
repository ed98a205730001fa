#include "datapath/ports/kernel_interface.hpp"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "datapath/frame/size.hpp"
#include "datapath/ports/eth.hpp"

namespace dpubench::datapath {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

/// Return the interfaces of this namespace, for messages.
std::string interfaces() {
  std::string all;
  struct if_nameindex* const list = if_nameindex();
  for (const struct if_nameindex* at = list; at != nullptr && at->if_index != 0; ++at) {
    all += (all.empty() ? "" : ", ") + std::string(at->if_name);
  }
  if_freenameindex(list);
  return all;
}

/// Return the attribute of this type among those in [begin, begin + length); null if there is none.
const rtattr* find_attribute(const rtattr* begin, std::size_t length, unsigned type) {
  auto left = static_cast<int>(length);
  for (const rtattr* at = begin; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
    if ((at->rta_type & NLA_TYPE_MASK) == type) return at;
  }
  return nullptr;
}

}  // namespace

PortKind::Reason capability_missing(unsigned capability, const std::string& name) {
  std::ifstream status("/proc/self/status");
  const std::string key = "CapEff:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    if ((std::strtoull(line.c_str() + key.size(), nullptr, 16) >> capability & 1U) != 0) return {};
    return {"this process lacks the right " + name, "run it as root"};
  }
  return {};
}

PortKind::Reason family_missing(int family, const std::string& name, const std::string& option) {
  const Descriptor probe(socket(family, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (probe.get() >= 0 || errno != EAFNOSUPPORT) return {};
  return {"this kernel has no " + name + " sockets", "use a kernel with " + option};
}

XdpMode xdp_mode(const std::string& interface) {
  struct Request {
    nlmsghdr header;
    ifinfomsg link;
  };
  Request request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.link.ifi_family = AF_UNSPEC;
  request.link.ifi_index = static_cast<int>(if_nametoindex(interface.c_str()));
  const Descriptor netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const timeval patience{1, 0};
  setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (send(netlink.get(), &request, sizeof request, 0) != sizeof request) return XdpMode::kNone;
  alignas(nlmsghdr) char answer[16384];
  const ssize_t length = recv(netlink.get(), answer, sizeof answer, 0);
  const auto* const header = reinterpret_cast<const nlmsghdr*>(answer);
  if (length < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(ifinfomsg))) || header->nlmsg_type != RTM_NEWLINK) return XdpMode::kNone;
  const auto* const link = static_cast<const ifinfomsg*>(NLMSG_DATA(header));
  const std::size_t attributes = static_cast<std::size_t>(length) - NLMSG_LENGTH(sizeof(ifinfomsg));
  const rtattr* const xdp = find_attribute(IFLA_RTA(link), attributes, IFLA_XDP);
  if (xdp == nullptr) return XdpMode::kNone;
  const rtattr* const attached = find_attribute(static_cast<const rtattr*>(RTA_DATA(xdp)), RTA_PAYLOAD(xdp), IFLA_XDP_ATTACHED);
  if (attached == nullptr || RTA_PAYLOAD(attached) < 1) return XdpMode::kNone;
  switch (*static_cast<const unsigned char*>(RTA_DATA(attached))) {
    case XDP_ATTACHED_NONE:
      return XdpMode::kNone;
    case XDP_ATTACHED_DRV:
      return XdpMode::kNative;
    case XDP_ATTACHED_SKB:
      return XdpMode::kGeneric;
    default:
      return XdpMode::kOther;
  }
}

void require_interface(const std::string& kind, const std::string& interface, std::uint32_t max_frame) {
  ifreq request{};
  if (interface.size() >= sizeof request.ifr_name || if_nametoindex(interface.c_str()) == 0) {
    throw Error(port_prefix(kind) + "there is no interface '" + interface + "' in this network namespace; there are " +
                interfaces());
  }
  std::memcpy(request.ifr_name, interface.c_str(), interface.size() + 1);
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (ioctl(any.get(), SIOCGIFFLAGS, &request) != 0) {
    throw Error(port_prefix(kind) + "interface " + interface + ": " + std::strerror(errno));
  }
  if ((static_cast<unsigned>(request.ifr_flags) & IFF_UP) == 0) {
    throw Error(port_prefix(kind) + "the interface " + interface + " is down: ip link set dev " + interface + " up");
  }
  if (ioctl(any.get(), SIOCGIFMTU, &request) != 0) {
    throw Error(port_prefix(kind) + "interface " + interface + ": " + std::strerror(errno));
  }
  if (static_cast<std::uint32_t>(request.ifr_mtu) + kMtuOverhead < max_frame) {
    throw Error(port_prefix(kind) + "the interface " + interface + " has an MTU of " + std::to_string(request.ifr_mtu) +
                ", but frames of " + std::to_string(max_frame) + " bytes need " + std::to_string(max_frame - kMtuOverhead) +
                ": ip link set dev " + interface + " mtu " + std::to_string(max_frame - kMtuOverhead));
  }
}

}  // namespace dpubench::datapath
