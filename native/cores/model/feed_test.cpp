// Tests of the part of a trace that is simulated and counted.

#include "cores/model/feed.hpp"

#include <gtest/gtest.h>

#include "cores/model/testing.hpp"

namespace dpubench::cores::test {
namespace {

constexpr unsigned kMessages = 40;
constexpr unsigned kLength = 10;  // instructions per message

/// Return messages of chained additions.
Program messages() {
  Program program;
  for (unsigned m = 0; m < kMessages; ++m) {
    program.message();
    for (unsigned i = 0; i < kLength; ++i) program.integer(1, {1});
  }
  return program;
}

json counted(const Extent& extent) {
  const Program program = messages();
  return run(processor(), {&program}, extent)["contexts"][0];
}

TEST(Extent, TheWholeTraceIfNothingElseIsSaid) {
  const json all = counted({});
  EXPECT_EQ(all["instructions"], kMessages * kLength);
  EXPECT_EQ(all["messages"], kMessages);
  EXPECT_EQ(all["cycles"], kMessages * kLength + 3);
}

TEST(Extent, SkippedMessagesAreAsIfTheyWereNotThere) {
  Extent extent;
  extent.skip_messages = 15;
  EXPECT_EQ(counted(extent)["messages"], kMessages - 15);
  EXPECT_EQ(counted(extent)["cycles"], (kMessages - 15) * kLength + 3);
}

TEST(Extent, WarmUpIsSimulatedAndNotCounted) {
  Extent extent;
  extent.warm_up_messages = 10;
  const json behind = counted(extent);
  EXPECT_EQ(behind["messages"], kMessages - 10);
  EXPECT_EQ(behind["instructions"], (kMessages - 10) * kLength);
  EXPECT_EQ(behind["cycles"], (kMessages - 10) * kLength);  // the pipeline was already full
}

TEST(Extent, LimitsEndOnAMessageOrAnInstruction) {
  Extent extent;
  extent.messages = 7;
  EXPECT_EQ(counted(extent)["instructions"], 7 * kLength);
  extent.messages = 0;
  extent.instructions = 33;
  EXPECT_EQ(counted(extent)["instructions"], 33);
}

TEST(Extent, SamplesAreWholeMessages) {
  Extent extent;
  extent.every = 8;
  extent.measured = 2;
  const json sampled = counted(extent);
  EXPECT_EQ(sampled["messages"], kMessages / 8 * 2);
  EXPECT_EQ(sampled["cycles"], kMessages / 8 * 2 * kLength + 3);
}

TEST(Extent, WhatIsBetweenSamplesWarmsTheCaches) {
  json description = processor();
  description["caches"]["d"] = cache(65536, 4, 2, "memory");
  Program program;
  for (unsigned m = 0; m < kMessages; ++m) program.message().load(1, 1, 0x10000 + 64 * (m / 2));
  Extent extent;
  extent.every = 2;
  const json whole = run(description, {&program});
  EXPECT_EQ(whole["caches"]["d"]["misses"], kMessages / 2);
  EXPECT_EQ(whole["cycles"], kMessages / 2 * (100 + 2) + 3);
  // Odd messages find the lines of the even messages, which are not measured.
  extent.skip_messages = 1;
  const json odd = run(description, {&program}, extent);
  EXPECT_EQ(odd["caches"]["d"]["misses"], 1);
  EXPECT_EQ(odd["contexts"][0]["messages"], kMessages / 2);
}

TEST(Extent, RepeatedTracesKeepTheOthersCompany) {
  json description = processor();
  description["organisation"]["contexts"] = 2;
  description["organisation"]["policy"] = "icount.2.8";
  const Program long_one = messages();
  Program short_one;
  for (unsigned i = 0; i < 50; ++i) short_one.integer(1, {1});
  Extent extent;
  extent.repeat = true;
  const json result = run(description, {&long_one, &short_one}, extent);
  EXPECT_EQ(result["contexts"][0]["instructions"], kMessages * kLength);
  EXPECT_EQ(result["contexts"][1]["instructions"], 50);
  // Both contexts share one addition per cycle, and each chain wants one per cycle. Each context gets half to the end.
  EXPECT_NEAR(result["contexts"][0]["cycles"].get<double>(), 2 * kMessages * kLength, kMessages);
}

TEST(Extent, TheBatchesOfASourceMakeNoDifference) {
  const Program program = messages();
  std::vector<json> results;
  for (const std::size_t batch : {1U, 3U, 400U}) {
    std::vector<Load> all;
    all.push_back({program.source(batch), {}, 0, 0});
    Chip chip(parse_description(processor(), ""), std::move(all), {});
    chip.run({});
    results.push_back(chip.result());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(MessageTimes, AreThinnedOutAsTheyBecomeMany) {
  MessageTimes times;
  for (Cycle cycle = 0; cycle < 100000; ++cycle) times.add(cycle);
  EXPECT_LE(times.cycles().size(), 2048U);
  for (std::size_t i = 0; i < times.cycles().size(); ++i) EXPECT_EQ(times.cycles()[i], i * times.every());
}

}  // namespace
}  // namespace dpubench::cores::test
