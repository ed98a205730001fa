// sha256, engine portable: FIPS 180-4 as written, one message after the other.

#include "inputs/digest.hpp"
#include "operators/support/hashes/hash.hpp"

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::PortableHash<dpubench::inputs::Sha256>>(
      "sha256", "FIPS 180-4", "inputs::Sha256",
      ", one message after the other; several times slower than SHA instructions, and than several messages at once in vector "
      "registers"));
}
