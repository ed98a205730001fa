// dsa: signatures hold, forgeries do not.

#include "operators/support/pkey_test.hpp"

namespace dpubench {
namespace {

TEST(Dsa, ForgeriesAreRejected) {
  pkey_test::expect_forgeries_rejected("dsa", {{"operation", "verify"}});
}

TEST(Dsa, SignaturesVerify) {
  pkey_test::expect_signatures_verify("dsa", {{"operation", "sign"}, {"input", "message"}});
}

}  // namespace
}  // namespace dpubench
