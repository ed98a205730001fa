// Tests of several contexts: FGMT, SMT and CMP. The cycles are counted by hand.

#include <gtest/gtest.h>

#include "cores/model/testing.hpp"

namespace dpubench::cores::test {
namespace {

constexpr std::uint64_t kFrame = 3;

json threads(unsigned contexts, const char* policy, unsigned alus) {
  json description = processor();
  description["organisation"]["contexts"] = contexts;
  description["organisation"]["policy"] = policy;
  description["units"][0]["count"] = alus;
  return description;
}

Program chain(Kind kind, unsigned length) {
  Program program;
  for (unsigned i = 0; i < length; ++i) program.add(kind, {1}, {1});
  return program;
}

std::uint64_t total(const json& description, const Program& program) {
  const unsigned contexts =
      description["organisation"]["contexts"].get<unsigned>() * description["organisation"]["cores"].get<unsigned>();
  return run(description, std::vector<const Program*>(contexts, &program))["cycles"];
}

TEST(FgmtStrict, EveryContextHasEveryNthCycle) {
  const Program program = chain(Kind::kInteger, 100);
  for (const unsigned contexts : {2U, 3U, 4U, 7U}) {
    // Context k fetches in cycle k, enters in k + N, issues in its next turn, and then issues once in N cycles.
    const std::uint64_t last_issue = (contexts - 1) + 2 * contexts + std::uint64_t{contexts} * 99;
    EXPECT_EQ(total(threads(contexts, "strict", 8), program), last_issue + 2) << contexts;
  }
}

TEST(FgmtStrict, AContextOfItsOwnGetsNoMoreThanItsShare) {
  const Program program = chain(Kind::kInteger, 100);
  Program nothing;
  const json result = run(threads(4, "strict", 8), {&program, &nothing, &nothing, &nothing});
  EXPECT_EQ(result["contexts"][0]["cycles"], 8 + 4 * 99 + 2);
}

TEST(FgmtStrict, MultiplicationsHideBehindOtherContexts) {
  // Four cycles of latency and four contexts: it takes as many cycles as with additions.
  EXPECT_EQ(total(threads(4, "strict", 1), chain(Kind::kMultiply, 100)), 3 + 8 + 4 * 99 + 4 + 1);
}

TEST(FgmtSkipNotReady, AContextAloneHasEveryCycle) {
  Program nothing;
  const auto cycles_of = [&](unsigned length) {
    const Program program = chain(Kind::kInteger, length);
    const json result = run(threads(4, "skip_not_ready", 8), {&program, &nothing, &nothing, &nothing});
    return result["contexts"][0]["cycles"].get<std::uint64_t>();
  };
  EXPECT_EQ(cycles_of(1100) - cycles_of(100), 1000U);
  // Eight instructions enter before the others are known to have nothing. These get every fourth cycle.
  EXPECT_LE(cycles_of(100), 100 + kFrame + 4 + 8 * 3);
}

TEST(FgmtSkipNotReady, ChainsOfSeveralContextsFillTheCycles) {
  // One instruction issues per cycle, because a cycle belongs to one context.
  const std::uint64_t cycles = total(threads(4, "skip_not_ready", 8), chain(Kind::kInteger, 1000));
  EXPECT_GE(cycles, 4000 + kFrame);
  EXPECT_LE(cycles, 4000 + kFrame + 20);
}

TEST(FgmtSkipNotReady, IsNoWorseThanStrict) {
  // When a context waits, the others get its cycles.
  json description = threads(4, "strict", 2);
  description["caches"]["d"] = cache(4096, 4, 2, "memory");
  Program program;
  for (unsigned i = 0; i < 400; ++i) {
    program.load(1, 1, 0x10000 + 0x40 * (i % 128));
    for (std::uint8_t k = 2; k < 12; ++k) program.integer(k, {static_cast<std::uint8_t>(k - 1)});
  }
  const std::uint64_t strict = total(description, program);
  description["organisation"]["policy"] = "skip_not_ready";
  EXPECT_LT(total(description, program), strict);
}

TEST(FgmtSkipNotReady, IsNoWorseThanStrictWhereAQueueHoldsAllContextsUp) {
  // A round is a chain of three with independent work beside it, as in a hash. The contexts fill the queue with it. A context
  // that enters out of step with its issue cycles keeps its entries longer.
  for (const unsigned beside : {1U, 2U, 4U}) {
    Program program;
    for (unsigned i = 0; i < 2000; ++i) {
      for (unsigned k = 0; k < 3; ++k) program.integer(1, {1});
      for (unsigned k = 0; k < beside; ++k) program.integer(static_cast<std::uint8_t>(2 + k), {1});
    }
    for (const unsigned contexts : {2U, 3U, 5U, 7U}) {
      json description = threads(contexts, "strict", 8);
      description["queues"][0]["entries"] = 32;
      description["window"]["instructions"] = 128;
      description["widths"]["depth_cycles"] = 6;
      description["widths"]["buffer"] = 16;
      const std::uint64_t strict = total(description, program);
      description["organisation"]["policy"] = "skip_not_ready";
      EXPECT_LE(total(description, program), strict) << beside << " beside, " << contexts << " contexts";
    }
  }
}

TEST(FgmtSwitchOnStall, MissesOfOneContextAreAnothersCycles) {
  json description = threads(2, "switch_on_stall", 8);
  description["caches"]["d"] = cache(4096, 4, 2, "memory");
  description["window"]["instructions"] = 8;
  Program program;
  // Each context has misses of 100 cycles, each with a chain of 90 that waits for it.
  for (unsigned i = 0; i < 50; ++i) {
    program.load(1, 1, 0x10000 + 0x1000 * i);
    for (unsigned k = 0; k < 90; ++k) program.integer(1, {1});
  }
  json alone = description;
  alone["organisation"]["contexts"] = 1;
  const std::uint64_t one = total(alone, program);
  const std::uint64_t two = run(description, {&program, &program})["cycles"];
  EXPECT_GE(one, 50U * (100 + 90));
  // While one context waits, the other computes. Both together take hardly longer than one alone.
  EXPECT_LT(two, one + one / 10);
}

TEST(Smt, ChainsOfTwoContextsDoNotMeetWhereThereAreUnits) {
  // One context gets all eight instructions of the first cycle. The other therefore begins a cycle later.
  for (const char* policy : {"icount.2.8", "rr.2.8"})
    EXPECT_EQ(total(threads(2, policy, 8), chain(Kind::kInteger, 100)), 100 + 1 + kFrame) << policy;
}

TEST(Smt, ContextsShareUnits) {
  Program independent;
  for (unsigned i = 0; i < 800; ++i) independent.integer(static_cast<std::uint8_t>(i % 31), {});
  for (const char* policy : {"icount.2.8", "rr.2.8"})
    EXPECT_EQ(total(threads(2, policy, 4), independent), 2 * 800 / 4 + kFrame) << policy;
}

TEST(Smt, LinearInContextsUntilUnitsRunOut) {
  const Program program = chain(Kind::kInteger, 1000);
  for (const unsigned contexts : {1U, 2U, 4U})
    EXPECT_EQ(total(threads(contexts, "icount.4.8", 4), program), 1000 + contexts - 1 + kFrame) << contexts;
  // Eight chains share four units.
  const std::uint64_t eight = total(threads(8, "icount.8.8", 4), program);
  EXPECT_GE(eight, 2000 + kFrame);
  EXPECT_LE(eight, 2000 + kFrame + 16);
}

TEST(Smt, ADividedWindowLeavesAContextItsShare) {
  // A chain with a long latency fills its part of the window. The other context needs room for eight instructions per cycle.
  json description = threads(2, "icount.2.8", 8);
  description["window"]["instructions"] = 32;
  description["units"][1]["executes"]["multiply"] = {{"latency_cycles", 50}, {"every_cycles", 1}};
  const Program slow = chain(Kind::kMultiply, 100);
  Program fast;
  for (unsigned i = 0; i < 800; ++i) fast.integer(static_cast<std::uint8_t>(i % 31), {});
  const auto fast_cycles = [&](const char* window) {
    description["organisation"]["window"] = window;
    return run(description, {&slow, &fast})["contexts"][1]["cycles"].get<std::uint64_t>();
  };
  // Half of the window holds the instructions of two cycles. Three cycles pass from entry until a place is free.
  const std::uint64_t divided = fast_cycles("divided");
  const std::uint64_t shared = fast_cycles("shared");
  EXPECT_LE(divided, 800 * 3 / 16 + 10U);
  EXPECT_GT(shared, divided);
}

TEST(Cmp, TwoCoresDoTwiceTheWork) {
  json description = processor();
  description["organisation"]["cores"] = 2;
  const Program program = chain(Kind::kInteger, 500);
  const json result = run(description, {&program, &program});
  EXPECT_EQ(result["cycles"], 500 + kFrame);
  EXPECT_EQ(result["instructions"], 1000);
  EXPECT_EQ(result["contexts"][0], result["contexts"][1]);
}

TEST(Cmp, CoresShareASecondLevelInGroups) {
  json description = processor();
  description["organisation"]["cores"] = 4;
  description["caches"]["d"] = cache(1024, 2, 2, "l2");
  description["caches"]["l2"] = cache(65536, 4, 10, "memory");
  description["caches"]["l2"]["shared_by"] = 2;
  Program program;
  for (unsigned i = 0; i < 10; ++i) program.load(1, 1, 0x10000 + 64 * i);
  const json result = run(description, {&program, &program, &program, &program});
  // Cores 1 and 3 find the lines on their way in the L2 that they share with cores 0 and 2.
  EXPECT_EQ(result["caches"]["d"]["misses"], 40);
  EXPECT_EQ(result["caches"]["l2"]["accesses"], 40);
  EXPECT_EQ(result["caches"]["l2"]["misses"], 20);
  EXPECT_EQ(result["cycles"], 10 * 100 + kFrame);
}

TEST(Organisations, TheSameRunGivesTheSameFigures) {
  for (const char* policy : {"strict", "skip_not_ready", "switch_on_stall", "icount.2.8", "rr.2.8"}) {
    json description = threads(3, policy, 2);
    description["organisation"]["cores"] = 2;
    description["caches"]["d"] = cache(1024, 2, 2, "l2");
    description["caches"]["d"]["replacement"] = "random";
    description["caches"]["l2"] = cache(65536, 4, 10, "memory");
    description["caches"]["l2"]["shared_by"] = 2;
    description["memory"] = {{"latency_ns", 60}, {"banks", 4}, {"bank_busy_ns", 20}, {"bandwidth_gbps", 50}};
    Program program;
    std::uint64_t address = 1;
    for (unsigned i = 0; i < 500; ++i) {
      address = address * 6364136223846793005ULL + 1442695040888963407ULL;
      program.load(static_cast<std::uint8_t>(i % 5), static_cast<std::uint8_t>(i % 3), (address >> 40) & 0xfff8);
      program.integer(static_cast<std::uint8_t>(i % 4), {static_cast<std::uint8_t>(i % 5)});
      program.store(static_cast<std::uint8_t>(i % 4), 7, (address >> 36) & 0xfff8);
    }
    const std::vector<const Program*> six(6, &program);
    const json first = run(description, six);
    EXPECT_EQ(first, run(description, six)) << policy;
    EXPECT_EQ(first["instructions"], 6 * 1500) << policy;
  }
}

}  // namespace
}  // namespace dpubench::cores::test
