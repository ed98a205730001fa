// Instead of tls.cpp in a build without OpenSSL.
#include "base/error.hpp"
#include "link/tls.hpp"

namespace dpubench::link {

std::string tls_lack(Protection /*protection*/) {
  return "not built: openssl >= 3.0 was not found when this build was configured: install libssl-dev and build again";
}

std::unique_ptr<Tls> Tls::make(Role /*role*/, Protection protection) {
  throw Error(tls_lack(protection));
}

}  // namespace dpubench::link
