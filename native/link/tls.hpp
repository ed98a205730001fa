// TLS connections by OpenSSL: TLS 1.3 with AES-128-GCM, which kernels and network interfaces know too.
#pragma once

#include <memory>
#include <string>

#include "link/job.hpp"
#include "link/socket.hpp"

namespace dpubench::link {

/// Return why this build has no TLS, or cannot let the kernel encrypt; empty if it can do what the protection needs of it.
std::string tls_lack(Protection protection);

/// What an end needs for TLS, made before anything is measured. The server has a key and a certificate of its own making. The
/// client takes any certificate: a link is measured here, and no secret goes over it.
class Tls {
 public:
  Tls() = default;
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;
  virtual ~Tls() = default;

  /// @throws Error there is no TLS in this build
  static std::unique_ptr<Tls> make(Role role, Protection protection);
  /// Return an encrypted channel over `socket`, which must outlive it. @throws Error the handshake failed, or the client's
  /// protection is one of the kernel and the kernel, or the network interface, does not encrypt this connection
  virtual std::unique_ptr<Channel> open(Socket& socket) = 0;
};

}  // namespace dpubench::link
