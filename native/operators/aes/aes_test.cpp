// Tests particular to aes: sizes around blocks, ciphertext stealing, counters that overflow, forgeries, rules on sizes.

#include <gtest/gtest.h>

#include "operators/aes/work.hpp"
#include "operators/lane.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/verify.hpp"

namespace dpubench::aes {
namespace {

const Operator& op() {
  return *find_operator("aes");
}

using test::engines;

Params params(const std::string& mode, const std::string& direction, std::size_t size, const std::string& key_bits = "128") {
  return {{"mode", mode}, {"direction", direction}, {"key_bits", key_bits}, {"size", std::to_string(size)}};
}

std::vector<const Engine*> able(const Params& p) {
  std::vector<const Engine*> found;
  for (const EngineSlot* slot : engines().of(op())) {
    if (slot->reason.empty() && slot->engine->unsupported(p).empty()) found.push_back(slot->engine);
  }
  return found;
}

/// Compare every engine with the reference on `work`, with bursts around the library's limits.
void expect_agreement(AesWork& work, const std::string& what) {
  const auto all = able(work.params);
  ASSERT_FALSE(all.empty());
  const auto want = run_once(work, *all.front()->prepare(work), 1);
  for (const Engine* engine : all) {
    for (const std::uint32_t burst : {1U, 2U, 33U, 128U, 129U, 256U}) {
      const auto got = run_once(work, *engine->prepare(work), burst);
      for (std::size_t i = 0; i < want.size(); ++i) {
        EXPECT_EQ(op().check(work, i, got[i], &want[i]), "") << what << ", engine " << engine->info().name << ", burst " << burst;
      }
    }
  }
}

/// Return the work that decrypts the outputs of `work`.
std::unique_ptr<AesWork> undo(const AesWork& work, const std::vector<Output>& outputs) {
  auto inverse = std::make_unique<AesWork>();
  inverse->params = work.params;
  inverse->params.set("direction", std::string("decrypt"));
  inverse->mode = work.mode;
  inverse->direction = Direction::kDecrypt;
  inverse->key = work.key;
  inverse->aad_bytes = work.aad_bytes;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    inverse->items.push_back({outputs[i].bytes, work.items[i].aux, static_cast<std::uint32_t>(work.items[i].in.size())});
    inverse->expected.push_back({work.items[i].in, 0, kStatusOk});
  }
  return inverse;
}

TEST(Aes, EnginesAgreeAndDecryptWhatTheyEncryptAtSizesAroundBlocks) {
  inputs::Store store({}, 1);
  for (const char* mode : {"cbc", "ctr", "gcm", "xts"}) {
    for (const char* key_bits : {"128", "256"}) {
      for (const std::size_t size : {1U, 15U, 16U, 17U, 31U, 32U, 33U, 47U, 48U, 255U, 256U, 1500U, 65536U}) {
        const Params p = params(mode, "encrypt", size, key_bits);
        if (!op().invalid(p).empty()) continue;
        const auto prepared = op().prepare(p, store, {5});
        auto& work = static_cast<AesWork&>(*prepared);
        expect_agreement(work, p.str());
        const auto outputs = run_once(work, *able(p).front()->prepare(work), 5);
        const auto inverse = undo(work, outputs);
        for (const Engine* engine : able(inverse->params)) {
          const auto back = run_once(*inverse, *engine->prepare(*inverse), 3);
          for (std::size_t i = 0; i < back.size(); ++i) {
            EXPECT_EQ(op().check(*inverse, i, back[i], &inverse->expected[i]), "")
                << p.str() << ", engine " << engine->info().name;
          }
        }
      }
    }
  }
}

TEST(Aes, CounterOverflowsInTheMiddleOfLongMessages) {
  inputs::Store store({}, 2);
  const auto prepared = op().prepare(params("ctr", "encrypt", 4099), store, {8});
  auto& work = static_cast<AesWork&>(*prepared);
  for (std::size_t i = 0; i < work.items.size(); ++i) {
    // The last 4, 8 or 16 bytes are close to their largest value; each item overflows at another block.
    for (std::size_t byte = 0; byte < (i % 3 == 0 ? 4U : i % 3 == 1 ? 8U : 16U); ++byte)
      work.items[i].aux[15 - byte] = std::byte{0xff};
    work.items[i].aux[15] = static_cast<std::byte>(0xff - 37 * i % 256);
  }
  expect_agreement(work, "overflowing counters");
}

TEST(Aes, NoEngineAcceptsAForgery) {
  inputs::Store store({}, 3);
  const auto prepared = op().prepare(params("gcm", "decrypt", 100), store, {40});
  auto& work = static_cast<AesWork&>(*prepared);
  for (std::size_t i = 0; i < work.items.size(); i += 2) {
    Item& item = work.items[i];
    item.in[item.in.size() - 1 - i % 16] ^= std::byte{0x10};  // odd items stay genuine
  }
  for (const Engine* engine : able(work.params)) {
    const auto got = run_once(work, *engine->prepare(work), 40);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].status, i % 2 == 0 ? kStatusRejected : kStatusOk) << engine->info().name << ", item " << i;
    }
  }
}

TEST(Aes, SizesThatAModeCannotTakeComeWithARemedy) {
  EXPECT_NE(op().invalid(params("cbc", "encrypt", 1500)).find("size=1504"), std::string::npos);
  EXPECT_EQ(op().invalid(params("cbc", "encrypt", 1504)), "");
  EXPECT_NE(op().invalid(params("xts", "decrypt", 15)).find("size=16"), std::string::npos);
  EXPECT_EQ(op().invalid(params("xts", "decrypt", 17)), "");
  EXPECT_EQ(op().invalid(params("gcm", "encrypt", 1)), "");
  EXPECT_THROW(static_cast<void>(op().complete(params("cbc", "encrypt", 17))), Error);
}

TEST(Aes, RatesCountTheMessageInBothDirections) {
  inputs::Store store({}, 4);
  for (const char* direction : {"encrypt", "decrypt"}) {
    const auto work = op().prepare(params("gcm", direction, 64), store, {1});
    const Operator::WindowTotals totals{
        .operations = 10, .in_bytes = 10 * work->items[0].in.size(), .out_bytes = 0, .result_sum = 0};
    EXPECT_EQ(op().rate_bytes(*work, totals), 640U) << direction;
  }
}

TEST(Aes, CipherTakesKeysOf16And32Bytes) {
  EXPECT_THROW(BlockCipher(std::vector<std::byte>(24)), Error);
  EXPECT_THROW(XtsCipher(std::vector<std::byte>(16)), Error);
  // FIPS 197 appendix C.1 and C.3.
  for (const std::size_t bytes : {16U, 32U}) {
    std::vector<std::byte> key(bytes);
    for (std::size_t i = 0; i < bytes; ++i) key[i] = static_cast<std::byte>(i);
    const State plain{0x00112233, 0x44556677, 0x8899aabb, 0xccddeeff};
    const State want = bytes == 16 ? State{0x69c4e0d8, 0x6a7b0430, 0xd8cdb780, 0x70b4c55a}
                                   : State{0x8ea2b7ca, 0x516745bf, 0xeafc4990, 0x4b496089};
    const BlockCipher cipher(key);
    EXPECT_EQ(cipher.encrypt(plain), want);
    EXPECT_EQ(cipher.decrypt(want), plain);
  }
}

}  // namespace
}  // namespace dpubench::aes
