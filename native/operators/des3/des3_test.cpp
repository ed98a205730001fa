// Tests particular to des3: sizes around blocks and around the longest lane of a multi-buffer library.

#include <gtest/gtest.h>

#include "operators/lane.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/verify.hpp"

namespace dpubench {
namespace {

TEST(Des3, EnginesAgreeFromOneBlockToTheLongestMessage) {
  const Operator& op = *find_operator("des3");
  inputs::Store store({}, 1);
  for (const char* direction : {"encrypt", "decrypt"}) {
    for (const char* size : {"8", "16", "24", "1496", "65520", "65528", "65536"}) {
      const auto work = op.prepare({{"direction", direction}, {"size", size}}, store, {3});
      std::vector<Output> want;
      for (const EngineSlot* slot : test::engines().of(op)) {
        if (!slot->reason.empty()) continue;
        for (const std::uint32_t burst : {1U, 3U}) {
          const auto got = run_once(*work, *slot->engine->prepare(*work), burst);
          if (want.empty()) want = got;
          for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_EQ(op.check(*work, i, got[i], &want[i]), "")
                << slot->name << ' ' << direction << ' ' << size << " burst " << burst;
          }
        }
      }
      EXPECT_FALSE(want.empty());
    }
  }
}

TEST(Des3, SizesThatAreNoWholeBlocksComeWithARemedy) {
  const Operator& op = *find_operator("des3");
  EXPECT_NE(op.invalid({{"direction", "encrypt"}, {"size", "1500"}}).find("size=1504"), std::string::npos);
  EXPECT_EQ(op.invalid({{"direction", "encrypt"}, {"size", "1504"}}), "");
}

}  // namespace
}  // namespace dpubench
