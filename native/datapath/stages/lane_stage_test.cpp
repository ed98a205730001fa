#include "datapath/stages/lane_stage.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "native/expect_error.hpp"
#include "operators/support/testing/built_engines.hpp"

namespace dpubench::datapath {
namespace {

using test::expect_error;

/// The orders for a scripted lane, and the record of what it did.
struct Script {
  std::uint32_t depth = 1;
  std::uint32_t loses_from = ~0U;  ///< first burst that does not come back; later ones do not either
  std::uint32_t submitted = 0;
  std::uint32_t most_under_way = 0;
  std::vector<std::uint32_t> sizes{};
};

/// A lane that gives back its newest burst at every second poll. The result is the first byte doubled.
class ScriptedLane final : public Lane {
 public:
  explicit ScriptedLane(Script& script) : script_(script) {}
  [[nodiscard]] std::uint32_t depth() const noexcept override { return script_.depth; }
  bool submit(Burst& burst) noexcept override {
    if (under_way_.size() == script_.depth) return false;
    script_.sizes.push_back(burst.n);
    if (script_.submitted++ >= script_.loses_from) return true;
    under_way_.push_back(&burst);
    script_.most_under_way = std::max(script_.most_under_way, static_cast<std::uint32_t>(under_way_.size()));
    return true;
  }
  std::uint32_t poll(std::span<Burst*> done) noexcept override {
    if (++polls_ % 2 != 0 || under_way_.empty()) return 0;
    Burst& burst = *under_way_.back();
    under_way_.pop_back();
    for (std::uint32_t i = 0; i < burst.n; ++i) {
      burst.result[i] = 2 * std::to_integer<std::uint64_t>(burst.in[i][0]);
      burst.out_len[i] = burst.in_len[i];
      std::memcpy(burst.out[i], burst.in[i], burst.in_len[i]);
      burst.status[i] = kStatusOk;
    }
    done[0] = &burst;
    return 1;
  }

 private:
  Script& script_;
  std::deque<Burst*> under_way_;
  unsigned polls_ = 0;
};

struct Items {
  std::array<std::byte, LaneRunner::kCapacity> in;
  std::array<std::byte, LaneRunner::kCapacity> out{};

  explicit Items(LaneRunner& runner, std::uint32_t n) {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i);
    runner.clear();
    for (std::uint32_t i = 0; i < n; ++i) EXPECT_EQ(runner.add(&in[i], 1, &out[i], 1), i);
  }
  void expect_complete(const LaneRunner& runner) const {
    for (std::uint32_t i = 0; i < runner.size(); ++i) {
      EXPECT_EQ(runner.status(i), kStatusOk);
      EXPECT_EQ(runner.result(i), 2 * i);
      EXPECT_EQ(runner.out_len(i), 1U);
      EXPECT_EQ(out[i], in[i]);
    }
  }
};

TEST(LaneRunner, GivesItemsInBurstsAndKeepsSeveralUnderWay) {
  for (const std::uint32_t n : {0U, 1U, 31U, 32U, 33U, 200U, LaneRunner::kCapacity}) {
    Script script{.depth = 4};
    LaneRunner runner(std::make_unique<ScriptedLane>(script), 32);
    const Items items(runner, n);
    EXPECT_TRUE(runner.run());
    items.expect_complete(runner);
    EXPECT_EQ(script.submitted, (n + 31) / 32);
    if (n >= 200) {
      EXPECT_GT(script.most_under_way, 1U);
    }
    EXPECT_LE(script.most_under_way, 4U);
  }
}

TEST(LaneRunner, RunsBatchAfterBatch) {
  Script script;
  LaneRunner runner(std::make_unique<ScriptedLane>(script), LaneRunner::kCapacity);
  for (const std::uint32_t n : {5U, 256U, 1U}) {
    const Items items(runner, n);
    EXPECT_TRUE(runner.run());
    items.expect_complete(runner);
  }
  EXPECT_EQ(script.sizes, (std::vector<std::uint32_t>{5, 256, 1}));
}

TEST(LaneRunner, ItemsThatALaneLosesAreToldAndEndTheLane) {
  Script script{.depth = 2, .loses_from = 1};
  LaneRunner runner(std::make_unique<ScriptedLane>(script), 4, 1'000'000);
  const Items items(runner, 8);
  EXPECT_FALSE(runner.run());
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(runner.status(i), kStatusLost);
  const Items more(runner, 3);
  EXPECT_FALSE(runner.run());
  EXPECT_EQ(runner.status(2), kStatusLost);
  EXPECT_EQ(script.submitted, 2U);
}

inputs::Store& store() {
  static inputs::Store the_store({}, 1);
  return the_store;
}

std::vector<std::string> engines_of(const std::string& op) {
  std::vector<std::string> names;
  for (const EngineSlot* slot : test::engines().of(*find_operator(op))) {
    if (slot->reason.empty()) names.push_back(slot->name);
  }
  return names;
}

TEST(PreparedOperator, EveryEngineOfSha256GivesThePublishedAnswer) {
  // FIPS 180-2, appendix B.1.
  const std::array<unsigned char, 32> want = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
                                              0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
                                              0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
  const auto engines = engines_of("sha256");
  ASSERT_FALSE(engines.empty());
  for (const std::string& engine : engines) {
    PreparedOperator hash({.stage = "hash", .op = "sha256", .params = {}, .engine = engine, .most_in_bytes = 3}, store(),
                          test::engines());
    EXPECT_EQ(hash.report().name, "hash");
    EXPECT_EQ(hash.report().engine, engine);
    EXPECT_NE(hash.report().verified.find("known answers"), std::string::npos);
    const auto runner = hash.open();
    // The inputs lie at odd addresses, and they fill more than one burst of a device.
    std::vector<std::byte> in(100 * 5 + 1);
    std::vector<std::byte> out(100 * want.size());
    for (int round = 0; round < 2; ++round) {
      runner->clear();
      for (std::size_t i = 0; i < 100; ++i) {
        std::memcpy(&in[i * 5 + 1], "abc", 3);
        runner->add(&in[i * 5 + 1], 3, &out[i * want.size()], want.size());
      }
      ASSERT_TRUE(runner->run());
      for (std::uint32_t i = 0; i < 100; ++i) {
        ASSERT_EQ(runner->status(i), kStatusOk) << engine;
        ASSERT_EQ(runner->out_len(i), want.size()) << engine;
        ASSERT_EQ(std::memcmp(&out[i * want.size()], want.data(), want.size()), 0) << engine << ", item " << i;
      }
    }
  }
}

TEST(PreparedOperator, NamesWhatCannotBe) {
  const auto prepare = [](OperatorSpec spec) {
    return [spec] { const PreparedOperator prepared(spec, store(), test::engines()); };
  };
  expect_error(prepare({.stage = "scan", .op = "sha257", .params = {}, .engine = "portable"}),
               {"stage scan", "no operator 'sha257'"});
  expect_error(prepare({.stage = "scan", .op = "sha256", .params = {}, .engine = "portble"}),
               {"stage scan", "sha256 has no engine 'portble'", "portable"});
  expect_error(prepare({.stage = "scan", .op = "sha256", .params = {{"sizes", "1"}}, .engine = "portable"}),
               {"sha256 has no parameter 'sizes'"});
  expect_error(prepare({.stage = "scan", .op = "sha256", .params = {{"size", "64"}}, .engine = "portable", .most_in_bytes = 65}),
               {"at most 64 bytes", "the stage has 65"});
}

}  // namespace
}  // namespace dpubench::datapath
