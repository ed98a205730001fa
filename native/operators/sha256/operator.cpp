// sha256: the hash of a message (FIPS 180-4).

#include "operators/support/hashes/hash.hpp"

namespace dpubench {
namespace {

class Sha256Operator final : public HashOperator {
 public:
  // The vectors are the examples of FIPS 180-2, to which FIPS 180-4 refers.
  Sha256Operator()
      : HashOperator({.name = "sha256",
                      .title = "SHA-256",
                      .digest_bytes = 32,
                      .sources = {"FIPS 180-4 section 6.2", "DPUBench (2023), security operators"},
                      .vectors_source = "FIPS 180-2 appendix B",
                      .vectors = {
                          {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                          {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
                          {std::string(1'000'000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
                      }}) {}
};

DPUBENCH_OPERATOR(Sha256Operator);

}  // namespace
}  // namespace dpubench
