// Helpers of the tests of rsa, dsa and ecdsa: signatures of the operator's own arithmetic are accepted, and refused with a bit
// flipped.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "operators/support/signatures/pkey.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/verify.hpp"

namespace dpubench::pkey_test {

using test::engines;

inline bool does(const EngineSlot& slot, const Params& params) {
  return slot.reason.empty() && slot.engine->unsupported(params).empty();
}

/// Expect the status of every item, with each engine that can do this here. @returns the number of these engines
inline std::size_t expect_statuses(const Operator& op, const PkeyWork& work) {
  std::size_t judged = 0;
  for (const EngineSlot* slot : engines().of(op)) {
    if (!does(*slot, work.params)) continue;
    SCOPED_TRACE(slot->name);
    const auto outputs = run_once(work, *slot->engine->prepare(work), 1);
    for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i].status, work.expected[i].status) << "item " << i;
    ++judged;
  }
  return judged;
}

/// Expect every engine to accept the items of a configuration and to reject forgeries of the first: a bit flipped in every third
/// byte of the signature and in every fifth byte of the signed input, and signatures that are too short, too long, empty, or of
/// another item.
inline void expect_forgeries_rejected(const std::string& name, const Params& given) {
  SCOPED_TRACE(name + ' ' + given.str());
  const Operator* const op = find_operator(name);
  ASSERT_NE(op, nullptr);
  inputs::Store store({}, 3);
  const Params params = op->complete(given);
  const std::unique_ptr<Work> base = op->prepare(params, store, {2});
  auto& work = static_cast<PkeyWork&>(*base);
  work.params = params;
  const std::vector<std::byte> in = work.items[0].in;
  const std::vector<std::byte> signature(work.items[0].aux.begin() + 4, work.items[0].aux.end());
  const auto reject = [&](const std::vector<std::byte>& message, const std::vector<std::byte>& claimed) {
    add_verification(work, message, claimed, kStatusRejected);
  };
  for (std::size_t at = 0; at < signature.size(); at += 3) reject(in, flipped(signature, at));
  for (std::size_t at = 0; at < in.size(); at += 5) reject(flipped(in, at), signature);
  reject(in, {signature.begin(), signature.end() - 1});
  reject(in, der::join({signature, {std::byte{0}}}));
  reject(in, {});
  reject(work.items[1].in, signature);
  EXPECT_GE(expect_statuses(*op, work), 1U) << "no engine of " << name << " is here";
}

/// Sign, then verify the outputs: as they are, and with a bit flipped.
inline void expect_signatures_verify(const std::string& name, const Params& given) {
  SCOPED_TRACE(name + ' ' + given.str());
  const Operator* const op = find_operator(name);
  ASSERT_NE(op, nullptr);
  inputs::Store store({}, 4);
  const Params params = op->complete(given);
  const std::unique_ptr<Work> work = op->prepare(params, store, {3});
  work->params = params;
  for (const EngineSlot* slot : engines().of(*op)) {
    if (!does(*slot, params)) continue;
    SCOPED_TRACE(slot->name);
    const auto outputs = run_once(*work, *slot->engine->prepare(*work), 2);
    const std::size_t items[] = {0, 1, 2};
    const std::unique_ptr<Work> inverse = op->inverse(*work, items, outputs);
    const auto rejected = [](const Output& o) { return o.status == kStatusRejected; };
    ASSERT_GE(std::count_if(inverse->expected.begin(), inverse->expected.end(), rejected), 3) << "verifying must be able to fail";
    EXPECT_GE(expect_statuses(*op, static_cast<const PkeyWork&>(*inverse)), 1U);
  }
}

}  // namespace dpubench::pkey_test
