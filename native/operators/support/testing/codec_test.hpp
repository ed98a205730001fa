// Helpers of the tests of packing operators: messages of every kind, and the verification of all engines on them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inputs/random.hpp"
#include "operators/support/codecs/codec.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/verify.hpp"

namespace dpubench::codec_test {

using Bytes = std::vector<std::byte>;

inline constexpr std::array<std::size_t, 22> kSizes = {1,   2,   3,    4,    5,    11,   12,    13,    16,    31,    64,
                                                       100, 255, 1000, 1024, 4095, 9000, 32769, 65535, 65536, 65537, 140000};

/// Return messages of `size` bytes: constant, random, of few values, periodic with short and long periods, sparse, and text-like.
inline std::vector<Bytes> messages(std::size_t size, inputs::Random& random) {
  std::vector<Bytes> all(8, Bytes(size));
  random.fill(all[1]);
  for (std::size_t i = 0; i < size; ++i) all[2][i] = static_cast<std::byte>(random.below(3));
  const std::array<std::size_t, 3> periods = {1 + random.below(15), 300, 32768};
  for (std::size_t p = 0; p < periods.size(); ++p) {
    Bytes period(periods[p]);
    random.fill(period);
    for (std::size_t i = 0; i < size; ++i) all[3 + p][i] = period[i % period.size()];
  }
  for (std::size_t i = 0; i < size; i += 1 + random.below(200)) all[6][i] = static_cast<std::byte>(random.next());
  Bytes words(512);
  random.fill(words);
  for (std::size_t i = 0; i < size;) {
    const std::size_t word = random.below(64) * 8;
    for (std::size_t k = 0; k < 1 + word % 7 && i < size; ++k, ++i) all[7][i] = words[word + k];
    if (i < size) all[7][i++] = std::byte{' '};
  }
  return all;
}

/// Run `decode(in, out)` on damaged copies of `packed`. The input lies in heap memory of exactly its size, so that a sanitizer
/// sees every access beyond. A guard lies behind the output. @returns how many copies were rejected
template <class Decode>
std::size_t rejected_when_damaged(const Bytes& packed, std::size_t plain_size, inputs::Random& random, int copies,
                                  Decode decode) {
  std::size_t rejected = 0;
  for (int i = 0; i < copies; ++i) {
    Bytes damaged = packed;
    switch (random.below(3)) {
      case 0:
        damaged.resize(random.below(packed.size()));
        break;
      case 1:
        for (std::uint64_t k = random.below(4) + 1; k != 0; --k)
          damaged[random.below(damaged.size())] = static_cast<std::byte>(random.next());
        break;
      default:
        damaged[random.below(damaged.size())] ^= static_cast<std::byte>(1U << random.below(8));
        break;
    }
    damaged.shrink_to_fit();
    const std::size_t room = random.below(2) == 0 ? plain_size : random.below(plain_size + 1);
    constexpr std::size_t kGuard = 64;
    Bytes out(room + kGuard, std::byte{0x5A});
    const std::optional<std::size_t> used = decode(damaged, std::span(out).first(room));
    EXPECT_LE(used.value_or(0), room);
    EXPECT_TRUE(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(room), out.end(),
                            [](std::byte b) { return b == std::byte{0x5A}; }));
    if (!used) ++rejected;
  }
  return rejected;
}

using test::engines;

/// Pack messages of all sizes (up to `max_size`) and kinds with every engine that can do `given`; every engine unpacks them.
inline void verify_all_engines(const std::string& name, const Params& given, std::uint32_t packed_room(std::size_t size),
                               std::size_t max_size = kSizes.back()) {
  const Operator* op = find_operator(name);
  ASSERT_NE(op, nullptr);
  inputs::Random random(7);
  Work work;
  Params all = given;
  all.set("size", std::to_string(max_size));  // size of the longest message: devices do not take all sizes
  work.params = op->complete(all);
  for (const std::size_t size : kSizes) {
    if (size > max_size) break;
    for (Bytes& message : messages(size, random)) work.items.push_back({std::move(message), {}, packed_room(size)});
  }
  std::size_t verified = 0;
  for (const EngineSlot* slot : engines().of(*op)) {
    if (!slot->reason.empty() || !slot->engine->unsupported(work.params).empty()) continue;
    SCOPED_TRACE(slot->name + " " + work.params.str());
    Verifier verifier(*op, work, engines(), 5);
    const std::unique_ptr<Session> session = slot->engine->prepare(work);
    std::vector<Output> outputs;
    EXPECT_NO_THROW(verifier.verify(*slot->engine, *session, outputs));
    EXPECT_EQ(outputs.size(), work.items.size());
    ++verified;
  }
  EXPECT_GE(verified, 1U) << "no engine can do " << work.params.str();
}

/// Expect every engine to accept and reject as the operator's known answers for unpacking say.
inline void verify_known_answers(const std::string& name, const Params& given) {
  const Operator* op = find_operator(name);
  ASSERT_NE(op, nullptr);
  const Params params = op->complete(given);
  for (const EngineSlot* slot : engines().of(*op)) {
    if (!slot->reason.empty() || !slot->engine->unsupported(params).empty()) continue;
    for (const KnownAnswer& answer : op->known_answers(params)) {
      const std::unique_ptr<Session> session = slot->engine->prepare(*answer.work);
      const std::vector<Output> outputs = run_once(*answer.work, *session, 1);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        EXPECT_EQ(op->check(*answer.work, i, outputs[i], &answer.work->expected[i]), "")
            << slot->name << ": " << answer.name << " " << i;
      }
    }
  }
}

}  // namespace dpubench::codec_test
