// Tests of dsa: signatures verify and forgeries do not, the encoding of signatures, and the key that crypto_openssl loses.

#include "operators/dsa/der_signature.hpp"
#include "operators/support/testing/pkey_test.hpp"

namespace dpubench {
namespace {

using Bytes = std::vector<std::byte>;

TEST(Dsa, ForgeriesAreRejected) {
  pkey_test::expect_forgeries_rejected("dsa", {{"operation", "verify"}});
}

TEST(Dsa, SignaturesVerify) {
  pkey_test::expect_signatures_verify("dsa", {{"operation", "sign"}, {"input", "message"}});
}

Bytes encoded(const Bytes& r, const Bytes& s) {
  const auto bytes = [](const Bytes& number) {
    return std::span(reinterpret_cast<const std::uint8_t*>(number.data()), number.size());
  };
  Bytes out(dsa::kMostSignatureBytes);
  out.resize(dsa::encode(bytes(r), bytes(s), out.data()));
  return out;
}

TEST(DerSignature, IsWhatTheGeneralEncodingGivesAndDecodesToTheNumbers) {
  for (const char* const hex : {"", "00", "01", "7f", "80", "ff", "0080", "000001", "0123456789abcdef",
                                "8000000000000000000000000000000000000000000000000000000000000000",
                                "7f00000000000000000000000000000000000000000000000000000000000001"}) {
    SCOPED_TRACE(hex);
    const Bytes number = from_hex(hex);
    const Bytes der = encoded(number, from_hex("ff02"));
    EXPECT_EQ(der, der::sequence({der::integer(number), der::integer(from_hex("ff02"))}));
    dsa::Signature signature{};
    ASSERT_TRUE(dsa::decode(der, signature));
    const std::span<const std::byte> r = std::as_bytes(std::span(signature.r));
    EXPECT_TRUE(std::equal(number.rbegin(), number.rend(), r.rbegin()));
    EXPECT_EQ(signature.s[dsa::kNumberBytes - 2], 0xff);
  }
}

TEST(DerSignature, WhatIsNoneIsRefusedAndLeavesZeros) {
  for (const char* const hex : {
           "", "30", "3000", "3003020101",
           "3106020101020101",    // no SEQUENCE
           "3005020101020101",    // its length differs from the length of the rest
           "300602010102010100",  // a byte follows it
           "3006020101030101",    // no INTEGER
           "30060201ff020101",    // negative
           "300702020001020101",  // a zero too many in front
           "3005020101020200",    // ends within a number
           "30050200020101",      // a number without digits
           "308106020101020101",  // the length is not in its shortest form
           "30090201010201010201"
           "01"  // three numbers
       }) {
    SCOPED_TRACE(hex);
    dsa::Signature signature;
    signature.r.fill(1);
    signature.s.fill(1);
    EXPECT_FALSE(dsa::decode(from_hex(hex), signature));
    EXPECT_EQ(signature.r, decltype(signature.r){});
    EXPECT_EQ(signature.s, decltype(signature.s){});
  }
  Bytes wide(dsa::kNumberBytes + 1, std::byte{1});
  dsa::Signature signature;
  EXPECT_FALSE(dsa::decode(der::sequence({der::integer(wide), der::integer(from_hex("01"))}), signature));
}

/// Return the engine of the software driver, or null if the driver is not here. The engine refuses to run because of the fault
/// that the last test shows.
const Engine* crypto_openssl(const Operator& op) {
  for (const EngineSlot* const slot : test::engines().of(op)) {
    if (slot->name == "cryptodev-openssl" && slot->reason.find("loses a DSA session's key") != std::string::npos)
      return slot->engine;
  }
  return nullptr;
}

std::unique_ptr<Work> prepared(const Operator& op, const char* operation, std::uint32_t items) {
  inputs::Store store({}, 5);
  const Params params = op.complete({{"operation", operation}});
  std::unique_ptr<Work> work = op.prepare(params, store, {items});
  work->params = params;
  return work;
}

TEST(DsaCryptodev, EverySessionsFirstSignatureHolds) {
  const Operator* const op = find_operator("dsa");
  ASSERT_NE(op, nullptr);
  const Engine* const engine = crypto_openssl(*op);
  if (engine == nullptr) GTEST_SKIP() << "no driver crypto_openssl here";
  const std::unique_ptr<Work> work = prepared(*op, "sign", 1);
  for (int repeat = 0; repeat < 20; ++repeat) {  // r and s then have various lengths
    const auto outputs = run_once(*work, *engine->prepare(*work), 1);
    ASSERT_EQ(outputs.at(0).status, kStatusOk);
    const std::size_t items[] = {0};
    const std::unique_ptr<Work> inverse = op->inverse(*work, items, outputs);
    EXPECT_GE(pkey_test::expect_statuses(*op, static_cast<const PkeyWork&>(*inverse)), 1U);
  }
}

TEST(DsaCryptodev, EverySessionsFirstVerificationIsRight) {
  const Operator* const op = find_operator("dsa");
  ASSERT_NE(op, nullptr);
  const Engine* const engine = crypto_openssl(*op);
  if (engine == nullptr) GTEST_SKIP() << "no driver crypto_openssl here";
  const std::unique_ptr<Work> base = prepared(*op, "verify", 1);
  const Bytes in = base->items[0].in;
  const Bytes signature(base->items[0].aux.begin() + 4, base->items[0].aux.end());
  const auto status = [&](const Bytes& message, const Bytes& claimed) {
    auto& work = static_cast<PkeyWork&>(*base);
    work.items.clear();
    work.expected.clear();
    add_verification(work, message, claimed, kStatusOk);
    return run_once(work, *engine->prepare(work), 1).at(0).status;
  };
  EXPECT_EQ(status(in, signature), kStatusOk);
  EXPECT_EQ(status(flipped(in, 0), signature), kStatusRejected);
  for (std::size_t at = 0; at < signature.size(); at += 3) EXPECT_EQ(status(in, flipped(signature, at)), kStatusRejected) << at;
  EXPECT_EQ(status(in, {}), kStatusRejected);
  EXPECT_EQ(status(in, {signature.begin(), signature.end() - 1}), kStatusRejected);
}

/// This fault is the reason why the engine refuses DSA. If the test fails, the driver has improved, and the engine should run
/// again.
TEST(DsaCryptodev, TheDriverLosesTheKeyWithASessionsFirstOperation) {
  const Operator* const op = find_operator("dsa");
  ASSERT_NE(op, nullptr);
  const Engine* const engine = crypto_openssl(*op);
  if (engine == nullptr) GTEST_SKIP() << "no driver crypto_openssl here";
  for (const char* const operation : {"sign", "verify"}) {
    const std::unique_ptr<Work> work = prepared(*op, operation, 3);
    const auto outputs = run_once(*work, *engine->prepare(*work), 1);
    EXPECT_EQ(outputs.at(0).status, kStatusOk) << operation;
    EXPECT_EQ(outputs.at(1).status, kStatusRejected) << operation;
    EXPECT_EQ(outputs.at(2).status, kStatusRejected) << operation;
  }
}

}  // namespace
}  // namespace dpubench
