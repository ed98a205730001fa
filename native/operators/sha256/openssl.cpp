// sha256, engine openssl: EVP_Digest with a fetched digest and one context per thread.
// requires: libcrypto >= 3.0

#include "operators/support/openssl/hash.hpp"

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::openssl::Hash>("sha256", "SHA256"));
}
