// Tests of ecdsa: signatures verify, and forgeries do not.

#include "operators/support/testing/pkey_test.hpp"

namespace dpubench {
namespace {

TEST(Ecdsa, ForgeriesAreRejected) {
  for (const char* curve : {"P-256", "P-384"}) {
    pkey_test::expect_forgeries_rejected("ecdsa", {{"operation", "verify"}, {"curve", curve}});
    pkey_test::expect_forgeries_rejected("ecdsa",
                                         {{"operation", "verify"}, {"curve", curve}, {"input", "message"}, {"size", "64"}});
  }
}

TEST(Ecdsa, SignaturesVerify) {
  for (const char* curve : {"P-256", "P-384"}) pkey_test::expect_signatures_verify("ecdsa", {{"curve", curve}});
}

// r and s must be more than 0 and less than the order (FIPS 186-4 section 6.4.2, step 1 of the verification). Others must be
// refused whatever was signed. The values here are 0, and a number that exceeds the order.
TEST(Ecdsa, NumbersOutOfRangeAreRejected) {
  const Operator* const op = find_operator("ecdsa");
  ASSERT_NE(op, nullptr);
  for (const char* curve : {"P-256", "P-384"}) {
    SCOPED_TRACE(curve);
    inputs::Store store({}, 3);
    const Params params = op->complete({{"operation", "verify"}, {"curve", curve}});
    const std::unique_ptr<Work> base = op->prepare(params, store, {1});
    auto& work = static_cast<PkeyWork&>(*base);
    const std::size_t bytes = std::string_view(curve) == "P-256" ? 32 : 48;
    const std::vector<std::byte> none;
    const std::vector<std::byte> one = {std::byte{1}};
    const std::vector<std::byte> most(bytes, std::byte{0xFF});
    const std::vector<std::byte> in = work.items[0].in;
    for (const auto& [r, s] : {std::pair(none, one), {one, none}, {none, none}, {most, one}, {one, most}})
      add_verification(work, in, dss_signature(r, s), kStatusRejected);
    EXPECT_GE(pkey_test::expect_statuses(*op, work), 1U);
  }
}

}  // namespace
}  // namespace dpubench
