// ecdsa: bare loop over EVP_PKEY operations.
// requires: libcrypto >= 3.0

#include "../support/openssl_pkey_bare.hpp"

DPUBENCH_ENGINES(sink) {
  sink.add(dpubench::bare::openssl_pkey("ecdsa"));
}
