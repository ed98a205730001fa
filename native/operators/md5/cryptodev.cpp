// md5, engines cryptodev: DPDK's crypto devices. crypto_aesni_mb has MD5 only in HMAC.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API

#include "operators/support/dpdk/cryptodev.hpp"

DPUBENCH_ENGINES(sink) {
  using namespace dpubench::cryptodev;
  for (const Provider& provider : {named_device(), openssl()}) {
    sink.add(std::make_unique<Hash>("md5", provider, RTE_CRYPTO_AUTH_MD5, 16));
  }
}
