// md5: bare loop over EVP_Digest.
// requires: libcrypto >= 3.0

#include "../support/openssl_hash_bare.hpp"

DPUBENCH_ENGINES(sink) {
  sink.add(dpubench::bare::openssl_hash("md5", "MD5"));
}
