// Tests of hmac: every engine against RFC 2104 computed step by step, at sizes around the padding of the inner hash.

#include <gtest/gtest.h>

#include "operators/hmac/work.hpp"
#include "operators/lane.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/verify.hpp"

namespace dpubench::hmac {
namespace {

TEST(Hmac, EnginesAgreeWithTheDefinitionAroundBlockEdges) {
  const Operator& op = *find_operator("hmac");
  inputs::Store store({}, 1);
  for (const char* hash : {"md5", "sha1", "sha256"}) {
    for (const char* size : {"1", "54", "55", "56", "63", "64", "65", "119", "120", "128", "1500", "65536"}) {
      const auto work = op.prepare({{"hash", hash}, {"size", size}}, store, {7});
      for (const EngineSlot* slot : test::engines().of(op)) {
        if (!slot->reason.empty()) continue;
        for (const std::uint32_t burst : {1U, 2U, 17U, 129U, 256U}) {
          const auto got = run_once(*work, *slot->engine->prepare(*work), burst);
          for (std::size_t i = 0; i < got.size(); ++i) {
            const auto want = op.oracle(*work, i);
            EXPECT_EQ(op.check(*work, i, got[i], &*want), "") << slot->name << ' ' << hash << ' ' << size << " burst " << burst;
          }
        }
      }
    }
  }
}

TEST(Hmac, LongKeysAreHashedFirst) {
  for (const KnownAnswer& answer : find_operator("hmac")->known_answers({{"hash", "sha256"}, {"size", "64"}})) {
    const auto& work = static_cast<const HmacWork&>(*answer.work);
    EXPECT_EQ(work.block_key.size(), kBlockBytes);
    const bool same = std::equal(work.block_key.begin(), work.block_key.begin() + 4, work.key.begin());
    EXPECT_EQ(same, work.key.size() <= kBlockBytes) << answer.name;
  }
}

}  // namespace
}  // namespace dpubench::hmac
