// A test for operators whose check() judges outputs by itself: it must find any single changed bit, and any missing part.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operators/support/testing/built_engines.hpp"
#include "operators/verify.hpp"

namespace dpubench::test {

/// Prepare a configuration, run the portable engine on it, and expect check() to accept its output and no other.
inline void expect_tampering_found(const std::string& name, const Params& given) {
  SCOPED_TRACE(name + ' ' + given.str());
  const Operator* const op = find_operator(name);
  ASSERT_NE(op, nullptr);
  const EngineSlot* const slot = engines().find(name, "portable");
  ASSERT_NE(slot, nullptr);
  inputs::Store store({}, 5);
  const Params params = op->complete(given);
  const std::unique_ptr<Work> work = op->prepare(params, store, {4});
  work->params = params;
  const std::unique_ptr<Session> session = slot->engine->prepare(*work);
  const std::vector<Output> outputs = run_once(*work, *session, 4);
  for (std::size_t i = 0; i < outputs.size(); ++i) ASSERT_EQ(op->check(*work, i, outputs[i], nullptr), "") << "item " << i;

  const Output& good = outputs[0];
  Output bad = good;
  for (std::size_t at = 0; at < good.bytes.size(); ++at) {
    for (const std::byte bit : {std::byte{0x01}, std::byte{0x80}}) {
      bad.bytes[at] ^= bit;
      EXPECT_NE(op->check(*work, 0, bad, nullptr), "") << "byte " << at << " changed";
      bad.bytes[at] ^= bit;
    }
  }
  bad.bytes.pop_back();
  EXPECT_NE(op->check(*work, 0, bad, nullptr), "") << "one byte short";
  bad = good;
  ++bad.result;
  EXPECT_NE(op->check(*work, 0, bad, nullptr), "") << "wrong count";
  bad = good;
  bad.status = kStatusRejected;
  EXPECT_NE(op->check(*work, 0, bad, nullptr), "") << "rejected";
  bad = {{}, 0, kStatusOk};
  EXPECT_NE(op->check(*work, 0, bad, nullptr), "") << "nothing at all";
  EXPECT_NE(op->check(*work, 1, good, nullptr), "") << "another item's output";
}

}  // namespace dpubench::test
