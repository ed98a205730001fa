// sha256, engines cryptodev: DPDK's crypto devices.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API

#include "operators/support/dpdk/cryptodev.hpp"

DPUBENCH_ENGINES(sink) {
  using namespace dpubench::cryptodev;
  for (const Provider& provider : {named_device(), aesni_mb(), openssl()}) {
    sink.add(std::make_unique<Hash>("sha256", provider, RTE_CRYPTO_AUTH_SHA256, 32));
  }
}
