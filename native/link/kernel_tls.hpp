// TLS in the kernel and in network interfaces (Documentation/networking/tls.rst, tls-offload.rst of Linux).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dpubench::link {

/// Return why this kernel cannot encrypt TLS, with a remedy; empty if it can. It loads the kernel's module if it may.
std::string kernel_tls_lack();

/// Return why no network interface of this process's namespace encrypts TLS for the kernel; empty if one does.
std::string offload_lack();

/// Return why the interface of a connected socket does not encrypt; empty if it is set to do so.
std::string offload_lack_of(int socket);

/// Return whether a feature of an interface is on. @param feature  as ethtool -k of recent versions names it: "tls-hw-tx-offload"
bool has_feature(const std::string& interface, std::string_view feature);

/// How many connections began to send by kernel TLS since the namespace began (/proc/net/tls_stat).
struct TlsCounts {
  bool known = false;  ///< kernels before 5.5 do not tell
  std::uint64_t software = 0;
  std::uint64_t device = 0;  ///< a network interface encrypts
};

/// Parse /proc/net/tls_stat. @param text  its content; empty: not known
TlsCounts parse_tls_counts(std::string_view text);
TlsCounts tls_counts();

}  // namespace dpubench::link
