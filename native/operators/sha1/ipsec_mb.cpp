// sha1, engine ipsec-mb: multi-buffer jobs, the whole burst at once.
// requires: lib:IPSec_MB intel-ipsec-mb.h
// arch: x86_64

#include "operators/support/ipsec_mb/hash.hpp"

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::ipsec_mb::Hash<IMB_AUTH_SHA_1, &IMB_MGR::sha1, 20>>("sha1", "SHA_1"));
}
