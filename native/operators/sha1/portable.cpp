// sha1, engine portable: FIPS 180-4 as written, one message after the other.

#include "operators/sha1/sha1.hpp"
#include "operators/support/hashes/hash.hpp"

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::PortableHash<dpubench::Sha1>>("sha1", "FIPS 180-4", "Sha1"));
}
