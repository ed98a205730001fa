// Tests with micro kernels. The expected cycles are counted by hand, and the model must match them exactly.

#include "cores/model/core.hpp"

#include <gtest/gtest.h>

#include "cores/model/testing.hpp"
#include "native/expect_error.hpp"

namespace dpubench::cores::test {

using dpubench::test::expect_error;

namespace {

// Cycles from the first fetch to the window, and from the last issue to the commit: see processor().
constexpr std::uint64_t kFrame = 3;

Program chain(Kind kind, unsigned length) {
  Program program;
  for (unsigned i = 0; i < length; ++i) program.add(kind, {1}, {1});
  return program;
}

/// Return additions without dependences.
Program independent(unsigned length) {
  Program program;
  for (unsigned i = 0; i < length; ++i) program.integer(static_cast<std::uint8_t>(i % 31), {});
  return program;
}

json with_alus(unsigned count) {
  json description = processor();
  description["units"][0]["count"] = count;
  return description;
}

TEST(Core, OneInstructionTakesFetchWindowAndExecution) {
  EXPECT_EQ(cycles(processor(), chain(Kind::kInteger, 1)), 1 + kFrame);
}

TEST(Core, DependentAdditionsIssueOneACycle) {
  EXPECT_EQ(cycles(with_alus(4), chain(Kind::kInteger, 100)), 100 + kFrame);
  EXPECT_EQ(cycles(with_alus(4), chain(Kind::kInteger, 1000)), 1000 + kFrame);
}

TEST(Core, IndependentAdditionsIssueAsManyACycleAsThereAreUnits) {
  for (const unsigned units : {1U, 2U, 4U, 8U})
    EXPECT_EQ(cycles(with_alus(units), independent(800)), 800 / units + kFrame) << units;
}

TEST(Core, IssueWidthLimitsLikeUnits) {
  json description = with_alus(8);
  description["widths"]["issue"] = 3;
  EXPECT_EQ(cycles(description, independent(900)), 300 + kFrame);
}

TEST(Core, EntryAndCommitWidthLimitLikeUnits) {
  for (const char* stage : {"fetch", "enter", "commit"}) {
    json description = with_alus(8);
    description["widths"][stage] = 2;
    EXPECT_EQ(cycles(description, independent(800)), 400 + kFrame) << stage;
  }
}

TEST(Core, MultiplicationsInAChainTakeTheirLatencyEach) {
  EXPECT_EQ(cycles(processor(), chain(Kind::kMultiply, 100)), 400 + kFrame);
}

TEST(Core, PipelinedMultiplicationsIssueOneACycle) {
  Program program;
  for (unsigned i = 0; i < 100; ++i) program.add(Kind::kMultiply, {static_cast<std::uint8_t>(i % 31)}, {});
  EXPECT_EQ(cycles(processor(), program), 100 + 3 + kFrame);  // the last one's latency
}

TEST(Core, AUnitThatIsNotPipelinedIsBusyForSoLong) {
  json description = processor();
  description["units"][1]["executes"]["multiply"]["every_cycles"] = 4;
  Program program;
  for (unsigned i = 0; i < 100; ++i) program.add(Kind::kMultiply, {static_cast<std::uint8_t>(i % 31)}, {});
  EXPECT_EQ(cycles(description, program), 400 + kFrame);
}

TEST(Core, APointerChaseTakesTheCachesLatencyEach) {
  Program program;
  for (unsigned i = 0; i < 100; ++i) program.load(1, 1, 0x8000 + 64 * (i % 8));
  EXPECT_EQ(cycles(processor(), program), 200 + kFrame);  // 2 cycles each; the address takes no time
}

TEST(Core, CompareAndSelectFollowOneAnother) {
  Program program;
  for (unsigned i = 0; i < 100; ++i) program.add(Kind::kInteger, {kFlags}, {1, 2}).add(Kind::kInteger, {1}, {1, 2, kFlags});
  EXPECT_EQ(cycles(with_alus(4), program), 200 + kFrame);
}

TEST(Core, AStoreGivesItsDataToTheLoadThatFollows) {
  Program program;
  program.add(Kind::kMultiply, {1}, {});
  for (unsigned i = 0; i < 100; ++i) program.store(1, 2, 0x8000).load(1, 2, 0x8000);
  // The product is ready in cycle 6. Each load waits for its store's data, which the load before it provides. Each forwarding
  // takes 3 cycles.
  const json result = run(processor(), {&program});
  EXPECT_EQ(result["cycles"], 6 + 300 + 1);
  EXPECT_EQ(result["contexts"][0]["forwarded_loads"], 100);
}

TEST(Core, ALoadOfOtherBytesDoesNotWaitForAStore) {
  Program program;
  program.add(Kind::kMultiply, {1}, {}).store(1, 2, 0x8000).load(3, 2, 0x8008).add(Kind::kMultiply, {3}, {3});
  // The store's address issues in cycle 2 and the load in 3. Its data is ready in 5, the second product in 9.
  EXPECT_EQ(cycles(processor(), program), 9 + 1);
}

TEST(Core, WithoutDisambiguationALoadWaitsForTheAddressesOfOlderStores) {
  Program program;
  program.add(Kind::kMultiply, {1}, {}).store(2, 1, 0x8000).load(3, 2, 0x8100);
  // The product is the store's address. It is ready in cycle 6, when the store issues. The load alone has its data in 4.
  EXPECT_EQ(cycles(processor(), program), 6 + 1);
  json description = processor();
  description["store_forwarding"]["disambiguation"] = "none";
  EXPECT_EQ(cycles(description, program), 6 + 2 + 1);
}

TEST(Core, ALoadOfMoreThanAStoreHasWaitsUntilItIsWritten) {
  Program program;
  program.add(Kind::kMultiply, {1}, {}).store(1, 2, 0x8000, 2).load(3, 2, 0x8000, 3);
  // The multiplication issues in cycle 2 and its data is ready in 6. The store commits in 6 and is written in 7. The load has the
  // data in 9.
  const json result = run(processor(), {&program});
  EXPECT_EQ(result["cycles"], 9 + 1);
  EXPECT_EQ(result["contexts"][0]["forwarded_loads"], 0);
}

TEST(Core, TheAddressOfAWriteBackIsThereBeforeTheLoadsData) {
  json description = processor();
  description["caches"]["d"]["latency_cycles"] = 10;
  Program program;
  for (unsigned i = 0; i < 100; ++i) program.load(1, 2, 0x8000 + 8 * i);
  Program with_write_back;
  for (unsigned i = 0; i < 100; ++i) with_write_back.load_and_advance(1, 2, 0x8000 + 8 * i);
  EXPECT_EQ(cycles(description, with_write_back), 100 + 10 - 1 + kFrame);
  EXPECT_EQ(cycles(description, with_write_back), cycles(description, program));
}

TEST(Core, LongAccessesPassTheUnitInPieces) {
  json description = processor();
  description["units"][2]["access_bytes"] = 16;
  Program program;
  for (unsigned i = 0; i < 100; ++i) program.load(static_cast<std::uint8_t>(i % 31), 31, 0x8000, 6);
  EXPECT_EQ(cycles(description, program), 400 + 1 + kFrame);  // four pieces each, and the second cycle of the cache
}

TEST(Core, AWindowOfOneInstructionExecutesOneAtATime) {
  json description = with_alus(8);
  description["window"]["instructions"] = 1;
  // An instruction enters in cycle e, issues in e + 1 and commits in e + 2. Its place is free in e + 3.
  EXPECT_EQ(cycles(description, independent(100)), 3 * 99 + 1 + kFrame);
}

TEST(Core, AQueueOfOneEntryIsFreeAfterItsInstructionIssued) {
  json description = with_alus(8);
  description["queues"][0]["entries"] = 1;
  EXPECT_EQ(cycles(description, independent(100)), 2 * 99 + 1 + kFrame);
}

TEST(Core, InOrderIssueWaitsBehindAStalledInstruction) {
  Program program;
  for (unsigned i = 0; i < 100; ++i) {
    program.add(Kind::kMultiply, {1}, {});
    program.integer(2, {1});
    program.integer(3, {}).integer(4, {});
  }
  json description = with_alus(2);
  // Out of order: three additions per round on two units, 150 cycles. The last round's product and its sum follow.
  const std::uint64_t out_of_order = cycles(description, program);
  description["organisation"]["issue"] = "in-order";
  // In order: the multiplication issues in cycle c, the sum and the next addition in c + 4, the last addition and the next
  // multiplication in c + 5.
  EXPECT_EQ(cycles(description, program), 5 * 99 + 6 + kFrame);
  EXPECT_LT(out_of_order, 180U);
}

TEST(Core, AMispredictedBranchCostsUntilItIsExecutedAndTheFrontEnd) {
  json description = processor();
  description["widths"]["depth_cycles"] = 5;
  description["branches"] = {{"predictor", "bimodal"}, {"entries", 1024}, {"target_entries", 64},
                             {"target_ways", 4},       {"returns", 8},    {"target_miss_cycles", 0}};
  Program program;
  // Indirect jumps, each to a new target.
  for (unsigned i = 0; i < 100; ++i) program.branch(Branch::kIndirect, 0x2000 + 0x100 * i);
  program.integer(1, {});
  // Each jump is fetched in cycle f, enters in f + 5, issues in f + 6 and is executed in f + 7. The next one is fetched in f + 7.
  const json result = run(description, {&program});
  EXPECT_EQ(result["cycles"], 7 * 100 + 5 + 1 + 1 + 1);
  EXPECT_EQ(result["contexts"][0]["mispredicted"], 100);
  // These are all cycles in which no instruction enters, without those before the first instruction.
  EXPECT_EQ(result["contexts"][0]["stall_cycles"]["branch"], 6 * 100);
  EXPECT_EQ(result["contexts"][0]["stall_cycles"]["front_end"], 5);
}

TEST(Core, ATakenBranchEndsWhatIsFetchedInACycle) {
  Program program;
  for (unsigned i = 0; i < 100; ++i) program.integer(1, {}).branch(Branch::kDirect, 0x1040 + 0x40 * i);
  EXPECT_EQ(cycles(with_alus(8), program), 100 + kFrame);
}

TEST(Core, TheFetchOfACycleEndsWithItsLines) {
  json description = with_alus(8);
  description["widths"]["fetch"] = 6;
  // A line holds 16 instructions: fetched one line at a time it takes three cycles, of six, six and four.
  EXPECT_EQ(cycles(description, independent(96)), 18 + kFrame);
  description["widths"]["fetch_lines"] = 2;
  EXPECT_EQ(cycles(description, independent(96)), 16 + kFrame);
}

TEST(Core, AMissingInstructionLineCostsTheDifferenceOfLatencies) {
  json description = with_alus(8);
  description["caches"] = {
      {"i", cache(4096, 4, 1, "l2")}, {"l2", cache(65536, 4, 11, "memory")}, {"d", {{"ideal", true}, {"latency_cycles", 2}}}};
  Program twice;
  for (unsigned round = 0; round < 2; ++round) {
    twice.at(0x4000);
    for (unsigned i = 0; i < 160; ++i) twice.integer(1, {});
  }
  // Ten lines of 16 instructions come from memory (100 cycles, one of them the front end's). Fetching a line takes two cycles.
  const json result = run(description, {&twice});
  EXPECT_EQ(result["caches"]["i"]["misses"], 10);
  EXPECT_EQ(result["caches"]["i"]["accesses"], 20);
  EXPECT_EQ(result["cycles"], 10 * (99 + 2) + 10 * 2 + kFrame);
  EXPECT_EQ(result["contexts"][0]["stall_cycles"]["instruction_miss"], 10 * 99 + 1);  // and the very first cycle
}

TEST(Core, AFrontEndHoldsWhatIsOnItsWay) {
  for (const unsigned depth : {1U, 4U, 10U}) {
    json description = with_alus(8);
    description["widths"]["depth_cycles"] = depth;
    description["widths"]["buffer"] = 1;  // behind the front end
    EXPECT_EQ(cycles(description, independent(800)), 100 + depth + 2) << depth;
  }
}

constexpr unsigned kAesLatency = 3;

json with_aes(const char* fuses) {
  json description = processor();
  description["units"].push_back({{"name", "aes"},
                                  {"count", 1},
                                  {"queue", "all"},
                                  {"executes", {{"aes", {{"latency_cycles", kAesLatency}, {"every_cycles", 1}}}}}});
  description["widths"]["fuses"] = fuses;
  return description;
}

/// Return rounds that depend on each other. @param second  the register that the second instruction of a round reads and writes
Program aes_rounds(unsigned rounds, std::uint8_t second, bool apart = false) {
  Program program;
  for (unsigned i = 0; i < rounds; ++i) {
    program.add(Kind::kAes, {32}, {32, 40});
    if (apart) program.add(Kind::kNop, {}, {});
    program.add(Kind::kAes, {second}, {second});
  }
  return program;
}

TEST(Core, APairOfAesInstructionsOnOneRegisterIsOneWhereTheProcessorFusesThem) {
  const Program pairs = aes_rounds(100, 32);
  EXPECT_EQ(cycles(with_aes("nothing"), pairs), 200 * kAesLatency + kFrame);
  const json fused = run(with_aes("aes"), {&pairs});
  EXPECT_EQ(fused["cycles"], 100 * kAesLatency + kFrame);
  EXPECT_EQ(fused["instructions"], 200);
  EXPECT_EQ(fused["contexts"][0]["kinds"]["aes"], 200);
}

TEST(Core, WhatIsNoSuchPairIsNotFused) {
  // There are two separate chains, one per kind of instruction, side by side on one unit.
  EXPECT_EQ(cycles(with_aes("aes"), aes_rounds(100, 33)), 100 * kAesLatency + 1 + kFrame);
  EXPECT_EQ(cycles(with_aes("aes"), aes_rounds(100, 32, true)), 200 * kAesLatency + kFrame);
}

TEST(Core, AnInstructionWithoutAUnitIsRefused) {
  Program program;
  program.add(Kind::kSha, {32}, {32});
  expect_error([&] { run(processor(), {&program}); }, {"by-hand", "sha"});
}

TEST(Core, NopsTakeTheFrontEndAlone) {
  Program program;
  for (unsigned i = 0; i < 800; ++i) program.add(Kind::kNop, {}, {});
  EXPECT_EQ(cycles(processor(), program), 100 + kFrame - 1);
}

}  // namespace
}  // namespace dpubench::cores::test
