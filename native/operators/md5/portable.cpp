// md5, engine portable: RFC 1321 as written, one message after the other.

#include "operators/md5/md5.hpp"
#include "operators/support/hashes/hash.hpp"

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::PortableHash<dpubench::Md5>>("md5", "RFC 1321", "Md5"));
}
