// Tests of toeplitz: every engine against the definition bit by bit, with odd and even bursts (the vector code takes packets in
// pairs).

#include "operators/toeplitz/toeplitz.hpp"

#include <gtest/gtest.h>

#include "inputs/store.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/verify.hpp"

namespace dpubench {
namespace {

TEST(Toeplitz, EveryEngineAgreesWithTheDefinition) {
  const Operator& op = *find_operator("toeplitz");
  inputs::Store store({}, 5);
  for (const Params& modes : op.configurations()) {
    for (const char* key_bytes : {"40", "52"}) {
      Params params = modes;
      params.set("key_bytes", std::string(key_bytes));
      const auto work = op.prepare(params, store, {300});
      work->params = params;
      for (const EngineSlot* slot : test::engines().of(op)) {
        if (!slot->reason.empty()) continue;
        const auto session = slot->engine->prepare(*work);
        for (const std::uint32_t burst : {1U, 2U, 31U, 255U}) {
          const auto got = run_once(*work, *session, burst);
          for (std::size_t i = 0; i < got.size(); ++i) {
            const auto want = op.oracle(*work, i);
            ASSERT_EQ(op.check(*work, i, got[i], &*want), "") << slot->name << ' ' << params.str() << " burst " << burst;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dpubench
