// Tests of the hash operators: message lengths around the padding's edges, and input that arrives in pieces.

#include <gtest/gtest.h>

#include "operators/lane.hpp"
#include "operators/md5/md5.hpp"
#include "operators/sha1/sha1.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/verify.hpp"

namespace dpubench {
namespace {

TEST(Hashes, EnginesAgreeAroundPaddingEdges) {
  inputs::Store store({}, 1);
  for (const char* name : {"md5", "sha1", "sha256"}) {
    const Operator* op = find_operator(name);
    if (op == nullptr) continue;  // this build has only some operators
    for (const char* size : {"1", "54", "55", "56", "57", "63", "64", "65", "119", "120", "127", "128", "1500", "65536"}) {
      const auto work = op->prepare({{"size", size}}, store, {7});
      std::vector<Output> want;
      for (const EngineSlot* slot : test::engines().of(*op)) {
        if (!slot->reason.empty()) continue;
        for (const std::uint32_t burst : {1U, 2U, 17U, 129U, 256U}) {
          const auto got = run_once(*work, *slot->engine->prepare(*work), burst);
          if (want.empty()) want = got;
          for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_EQ(op->check(*work, i, got[i], &want[i]), "")
                << name << ' ' << slot->name << ' ' << size << " burst " << burst;
          }
        }
      }
      EXPECT_FALSE(want.empty()) << name;
    }
  }
}

template <class Hash>
void expect_same_in_pieces() {
  std::vector<std::byte> message(300);
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i * 7);
  const auto whole = Hash::of(message);
  for (const std::size_t first : {0U, 1U, 63U, 64U, 65U, 128U, 299U, 300U}) {
    for (const std::size_t second : {0U, 1U, 63U, 64U, 100U}) {
      Hash hash;
      const std::span<const std::byte> all(message);
      hash.update(all.first(first));
      hash.update(all.subspan(first, std::min(second, message.size() - first)));
      hash.update(all.subspan(std::min(first + second, message.size())));
      EXPECT_EQ(hash.finish(), whole) << first << " + " << second;
    }
  }
}

TEST(Hashes, PiecesGiveTheSameDigest) {
  expect_same_in_pieces<Md5>();
  expect_same_in_pieces<Sha1>();
}

}  // namespace
}  // namespace dpubench
