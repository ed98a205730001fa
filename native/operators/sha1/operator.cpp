// sha1: the hash of a message (FIPS 180-4).

#include "operators/support/hashes/hash.hpp"

namespace dpubench {
namespace {

class Sha1Operator final : public HashOperator {
 public:
  Sha1Operator()
      : HashOperator(
            {.name = "sha1",
             .title = "SHA-1",
             .digest_bytes = 20,
             .sources = {"FIPS 180-4 section 6.1", "DPUBench (2023), security operators"},
             .vectors_source = "FIPS 180-2 appendix A",
             .vectors = {
                 {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
                 {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
                 {std::string(1'000'000, 'a'), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"},
             }}) {}
};

DPUBENCH_OPERATOR(Sha1Operator);

}  // namespace
}  // namespace dpubench
