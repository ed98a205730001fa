// Tests of branch predictors on patterns with known mispredictions.

#include "cores/model/predictors.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace dpubench::cores {
namespace {

Branches branches(Predictor predictor) {
  Branches b;
  b.predictor = predictor;
  b.entries = 4096;
  b.history = predictor == Predictor::kTage ? 64 : predictor == Predictor::kTournament ? 12 : 10;
  return b;
}

/// Return the mispredictions of `taken(i)` at one address among the last `counted` of `total` branches.
unsigned wrong(Predictor predictor, const std::function<bool(unsigned)>& taken, unsigned total, unsigned counted) {
  const auto unit = make_direction_predictor(branches(predictor), 1);
  unsigned count = 0;
  for (unsigned i = 0; i < total; ++i) {
    const bool is_wrong = unit->predict(0, 0x4000, taken(i)) != taken(i);
    if (i >= total - counted && is_wrong) ++count;
  }
  return count;
}

bool loop_of(unsigned i, unsigned length) {
  return i % length != length - 1;
}

TEST(Predictors, BimodalMissesTheEndOfEveryLoop) {
  EXPECT_EQ(wrong(
                Predictor::kBimodal, [](unsigned i) { return loop_of(i, 8); }, 800, 400),
            50U);
}

TEST(Predictors, BimodalLearnsABiasedBranch) {
  EXPECT_EQ(wrong(
                Predictor::kBimodal, [](unsigned) { return true; }, 100, 100),
            1U);  // the counter begins weakly not taken
}

TEST(Predictors, GshareLearnsALoopShorterThanItsHistory) {
  EXPECT_EQ(wrong(
                Predictor::kGshare, [](unsigned i) { return loop_of(i, 8); }, 4000, 2000),
            0U);
  EXPECT_EQ(wrong(
                Predictor::kGshare, [](unsigned i) { return loop_of(i, 40); }, 4000, 2000),
            50U);
}

TEST(Predictors, TageLearnsALoopLongerThanGsharesHistory) {
  EXPECT_EQ(wrong(
                Predictor::kTage, [](unsigned i) { return loop_of(i, 8); }, 8000, 2000),
            0U);
  EXPECT_EQ(wrong(
                Predictor::kTage, [](unsigned i) { return loop_of(i, 40); }, 40000, 4000),
            0U);
}

TEST(Predictors, TournamentLearnsLoopsAsLongAsItsHistories) {
  // Ten outcomes of its own determine the end of a loop of eight. Neither these nor twelve global ones see through one of forty.
  EXPECT_EQ(wrong(
                Predictor::kTournament, [](unsigned i) { return loop_of(i, 8); }, 4000, 2000),
            0U);
  EXPECT_EQ(wrong(
                Predictor::kTournament, [](unsigned i) { return loop_of(i, 40); }, 4000, 2000),
            50U);
}

TEST(Predictors, TournamentChoosesTheBetterOfItsTwo) {
  // One branch repeats itself every four times, the other does what the one before it did: only global history knows that.
  const auto unit = make_direction_predictor(branches(Predictor::kTournament), 1);
  std::uint64_t state = 88172645463325252ULL;
  unsigned local = 0;
  unsigned global = 0;
  for (unsigned i = 0; i < 20000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const bool coin = (state >> 32 & 1) != 0;
    unit->predict(0, 0x4000, coin);
    const bool follows = unit->predict(0, 0x5004, coin) != coin;
    const bool repeats = unit->predict(0, 0x6008, i % 4 == 0) != (i % 4 == 0);
    if (i >= 18000) {
      global += follows ? 1 : 0;
      local += repeats ? 1 : 0;
    }
  }
  EXPECT_LT(global, 40U);
  EXPECT_LT(local, 40U);
}

TEST(Predictors, NobodyPredictsChance) {
  std::uint64_t state = 88172645463325252ULL;
  std::vector<bool> coins;
  for (unsigned i = 0; i < 20000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    coins.push_back((state >> 32 & 1) != 0);
  }
  for (const Predictor predictor : {Predictor::kBimodal, Predictor::kGshare, Predictor::kTournament, Predictor::kTage}) {
    const unsigned count = wrong(
        predictor, [&](unsigned i) { return coins[i]; }, 20000, 10000);
    EXPECT_GT(count, 4500U);
    EXPECT_LT(count, 5500U);
  }
}

Instruction branch(Branch kind) {
  Instruction what;
  what.kind = Kind::kBranch;
  what.branch = kind;
  return what;
}

TEST(BranchUnit, ReturnsGoWhereTheirCallsCameFrom) {
  BranchUnit unit(branches(Predictor::kBimodal), 1);
  // Three places call one function, which calls another one.
  for (const std::uint64_t caller : {0x1000ULL, 0x2000ULL, 0x3000ULL}) {
    unit.predict(0, branch(Branch::kCall), caller, 0x8000);
    unit.predict(0, branch(Branch::kCall), 0x8010, 0x9000);
    EXPECT_EQ(unit.predict(0, branch(Branch::kReturn), 0x9004, 0x8014), Outcome::kRight);
    EXPECT_EQ(unit.predict(0, branch(Branch::kReturn), 0x8020, caller + 4), Outcome::kRight);
  }
}

TEST(BranchUnit, AStackOfTwoForgetsTheThirdCall) {
  Branches two = branches(Predictor::kBimodal);
  two.returns = 2;
  BranchUnit unit(two, 1);
  for (const std::uint64_t caller : {0x1000ULL, 0x2000ULL, 0x3000ULL}) unit.predict(0, branch(Branch::kCall), caller, 0x8000);
  EXPECT_EQ(unit.predict(0, branch(Branch::kReturn), 0x8000, 0x3004), Outcome::kRight);
  EXPECT_EQ(unit.predict(0, branch(Branch::kReturn), 0x8000, 0x2004), Outcome::kRight);
  EXPECT_EQ(unit.predict(0, branch(Branch::kReturn), 0x8000, 0x1004), Outcome::kWrong);
}

TEST(BranchUnit, ContextsHaveReturnStacksOfTheirOwn) {
  BranchUnit unit(branches(Predictor::kBimodal), 2);
  unit.predict(0, branch(Branch::kCall), 0x1000, 0x8000);
  unit.predict(1, branch(Branch::kCall), 0x2000, 0x8000);
  EXPECT_EQ(unit.predict(0, branch(Branch::kReturn), 0x8000, 0x1004), Outcome::kRight);
  EXPECT_EQ(unit.predict(1, branch(Branch::kReturn), 0x8000, 0x2004), Outcome::kRight);
}

TEST(BranchUnit, TargetsAreThoseOfTheLastTime) {
  BranchUnit unit(branches(Predictor::kBimodal), 1);
  EXPECT_EQ(unit.predict(0, branch(Branch::kDirect), 0x1000, 0x8000), Outcome::kLateTarget);
  EXPECT_EQ(unit.predict(0, branch(Branch::kDirect), 0x1000, 0x8000), Outcome::kRight);
  EXPECT_EQ(unit.predict(0, branch(Branch::kIndirect), 0x1004, 0x8000), Outcome::kWrong);
  EXPECT_EQ(unit.predict(0, branch(Branch::kIndirect), 0x1004, 0x8000), Outcome::kRight);
  EXPECT_EQ(unit.predict(0, branch(Branch::kIndirect), 0x1004, 0x9000), Outcome::kWrong);
  EXPECT_EQ(unit.predict(0, branch(Branch::kIndirect), 0x1004, 0x8000), Outcome::kWrong);
}

}  // namespace
}  // namespace dpubench::cores
