// sha256: bare loop over multi-buffer jobs.
// requires: lib:IPSec_MB intel-ipsec-mb.h
// arch: x86_64

#include "../support/ipsec_mb_bare.hpp"

DPUBENCH_ENGINES(sink) {
  sink.add(dpubench::bare::ipsec_mb_hash("sha256", IMB_AUTH_SHA_256, 32));
}
