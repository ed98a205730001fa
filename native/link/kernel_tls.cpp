#include "link/kernel_tls.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <vector>

#include "link/socket.hpp"

namespace dpubench::link {
namespace {

constexpr std::string_view kFeature = "tls-hw-tx-offload";

/// A request of ethtool(8) to an interface's driver: a structure with a tail of variable length, in whole words.
bool ask_driver(int fd, const std::string& interface, std::vector<std::uint32_t>& request) {
  ifreq wrapped{};
  interface.copy(wrapped.ifr_name, IFNAMSIZ - 1);
  wrapped.ifr_data = reinterpret_cast<char*>(request.data());
  return ioctl(fd, SIOCETHTOOL, &wrapped) == 0;
}

std::vector<std::uint32_t> make_request(std::uint32_t command, std::size_t bytes) {
  std::vector<std::uint32_t> words((bytes + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t));
  words[0] = command;
  return words;
}

/// Return the names of the features that the kernel knows, in the order of their bits.
std::vector<std::string> feature_names(int fd, const std::string& interface) {
  auto size = make_request(ETHTOOL_GSSET_INFO, sizeof(ethtool_sset_info) + sizeof(std::uint32_t));
  auto& asked = *reinterpret_cast<ethtool_sset_info*>(size.data());
  asked.sset_mask = std::uint64_t{1} << ETH_SS_FEATURES;
  if (!ask_driver(fd, interface, size) || asked.sset_mask == 0) return {};
  const std::uint32_t n = asked.data[0];
  auto texts = make_request(ETHTOOL_GSTRINGS, sizeof(ethtool_gstrings) + std::size_t{n} * ETH_GSTRING_LEN);
  auto& strings = *reinterpret_cast<ethtool_gstrings*>(texts.data());
  strings.string_set = ETH_SS_FEATURES;
  strings.len = n;
  if (!ask_driver(fd, interface, texts)) return {};
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto* text = reinterpret_cast<const char*>(strings.data) + std::size_t{i} * ETH_GSTRING_LEN;
    names.emplace_back(text, strnlen(text, ETH_GSTRING_LEN));
  }
  return names;
}

struct FreeInterfaces {
  void operator()(ifaddrs* all) const { freeifaddrs(all); }
};

bool is_same_host(const sockaddr* a, const sockaddr* b) {
  if (a == nullptr || a->sa_family != b->sa_family) return false;
  if (a->sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in*>(a)->sin_addr.s_addr == reinterpret_cast<const sockaddr_in*>(b)->sin_addr.s_addr;
  if (a->sa_family != AF_INET6) return false;
  return std::memcmp(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr, &reinterpret_cast<const sockaddr_in6*>(b)->sin6_addr,
                     sizeof(in6_addr)) == 0;
}

/// Return the interface that has the socket's own address; empty if none has.
std::string interface_of(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  ifaddrs* all = nullptr;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0 || getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, FreeInterfaces> owner(all);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (is_same_host(one->ifa_addr, reinterpret_cast<const sockaddr*>(&own))) return one->ifa_name;
  }
  return {};
}

std::string content(const char* file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

bool has_feature(const std::string& interface, std::string_view feature) {
  const Descriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::vector<std::string> names = feature_names(fd.get(), interface);
  constexpr std::size_t kBits = 32;
  const std::size_t blocks = (names.size() + kBits - 1) / kBits;
  auto request = make_request(ETHTOOL_GFEATURES, sizeof(ethtool_gfeatures) + blocks * sizeof(ethtool_get_features_block));
  auto& features = *reinterpret_cast<ethtool_gfeatures*>(request.data());
  features.size = static_cast<std::uint32_t>(blocks);
  if (blocks == 0 || !ask_driver(fd.get(), interface, request)) return false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == feature) return (features.features[i / kBits].active >> i % kBits & 1U) != 0;
  }
  return false;
}

std::string kernel_tls_lack() {
  const Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // A socket that is not connected is refused as such (ENOTCONN) where there is TLS. Where there is none, ENOENT says so.
  if (setsockopt(fd.get(), IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls") == 0 || errno != ENOENT) return {};
  return "this kernel encrypts no TLS (/proc/sys/net/ipv4/tcp_available_ulp has no tls): load its module (modprobe tls), or use "
         "a "
         "kernel with CONFIG_TLS";
}

std::string offload_lack() {
  struct if_nameindex* const all = if_nameindex();
  bool found = false;
  for (const struct if_nameindex* one = all; one != nullptr && one->if_index != 0 && !found; ++one)
    found = has_feature(one->if_name, kFeature);
  if (all != nullptr) if_freenameindex(all);
  if (found) return {};
  return "no network interface here encrypts TLS: their drivers cannot, or it is off (ethtool -K INTERFACE " +
         std::string(kFeature) + " on)";
}

std::string offload_lack_of(int socket) {
  const std::string interface = interface_of(socket);
  if (interface.empty()) return "no interface has the address of this end of the connection";
  if (has_feature(interface, kFeature)) return {};
  return "interface " + interface + " does not encrypt TLS: its driver cannot, or it is off (ethtool -K " + interface + " " +
         std::string(kFeature) + " on)";
}

TlsCounts parse_tls_counts(std::string_view text) {
  std::istringstream lines{std::string(text)};
  TlsCounts counts;
  std::string name;
  for (std::uint64_t count = 0; lines >> name >> count;) {
    if (name == "TlsTxSw") counts.software = count;
    if (name == "TlsTxDevice") counts.device = count;
    counts.known = counts.known || name == "TlsTxDevice";
  }
  return counts;
}

TlsCounts tls_counts() {
  return parse_tls_counts(content("/proc/net/tls_stat"));
}

}  // namespace dpubench::link
