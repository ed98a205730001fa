// ecdsa, engine openssl: EVP_PKEY operations.
// requires: libcrypto >= 3.0

#include "operators/support/openssl/pkey.hpp"

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::openssl::Pkey>("ecdsa"));
}
