// Tests of caches, TLBs, prefetchers, memory and DMA. Latencies, misses and waiting times are counted by hand.

#include <gtest/gtest.h>

#include "cores/model/testing.hpp"

namespace dpubench::cores::test {
namespace {

constexpr std::uint64_t kFrame = 3;
constexpr unsigned kLine = 64;

/// Return a processor with an L1D of 1 KB, an L2 of 16 KB at 12 cycles, and memory at 100.
json two_levels() {
  json description = processor();
  description["caches"]["d"] = cache(1024, 2, 2, "l2");
  description["caches"]["l2"] = cache(16384, 4, 12, "memory");
  return description;
}

/// Return loads over `lines` lines, `rounds` times. Each load depends on the one before it.
Program chase(unsigned lines, unsigned rounds) {
  Program program;
  for (unsigned round = 0; round < rounds; ++round) {
    for (unsigned i = 0; i < lines; ++i) program.load(1, 1, 0x10000 + kLine * i);
  }
  return program;
}

/// Return loads without dependences, one per line.
Program stream(unsigned lines, unsigned from = 0) {
  Program program;
  for (unsigned i = from; i < from + lines; ++i) program.load(static_cast<std::uint8_t>(i % 8), 31, 0x10000 + kLine * i);
  return program;
}

TEST(Caches, APointerChaseTakesTheLatencyOfTheLevelThatHoldsIt) {
  EXPECT_EQ(cycles(two_levels(), chase(16, 1)), 16 * 100 + kFrame);
  EXPECT_EQ(cycles(two_levels(), chase(16, 11)) - cycles(two_levels(), chase(16, 1)), 10 * 16 * 2U);  // fits L1D
  EXPECT_EQ(cycles(two_levels(), chase(64, 11)) - cycles(two_levels(), chase(64, 1)),
            10 * 64 * 12U);  // cyclic accesses with LRU: all miss L1D
  EXPECT_EQ(cycles(two_levels(), chase(512, 3)) - cycles(two_levels(), chase(512, 1)), 2 * 512 * 100U);
}

TEST(Caches, CountsAccessesAndMisses) {
  const Program program = chase(64, 2);
  const json result = run(two_levels(), {&program});
  EXPECT_EQ(result["caches"]["d"]["accesses"], 128);
  EXPECT_EQ(result["caches"]["d"]["misses"], 128);
  EXPECT_EQ(result["caches"]["l2"]["accesses"], 128);
  EXPECT_EQ(result["caches"]["l2"]["misses"], 64);
  EXPECT_EQ(result["memory"]["lines_read"], 64);
}

TEST(Caches, WaysDecideWhetherLinesOfOneSetStay) {
  json description = two_levels();  // eight sets of two ways
  Program three;
  for (unsigned i = 0; i < 30; ++i) three.load(1, 1, 0x10000 + 512 * (i % 3));
  const auto misses = [&](unsigned ways) {
    description["caches"]["d"]["ways"] = ways;
    return run(description, {&three})["caches"]["d"]["misses"].get<unsigned>();
  };
  EXPECT_EQ(misses(2), 30U);
  EXPECT_EQ(misses(4), 3U);
  description["caches"]["d"]["replacement"] = "plru";
  EXPECT_EQ(misses(4), 3U);
  description["caches"]["d"]["replacement"] = "random";
  EXPECT_EQ(misses(4), 3U);
  EXPECT_GT(misses(2), 3U);
}

TEST(Caches, MissesOverlapAsFarAsMissRegistersGo) {
  json description = two_levels();
  description["caches"]["d"]["miss_registers"] = 4;
  // Eight loads from memory, a cycle apart. Four run at once. The others begin when the first four end, again a cycle apart.
  const Program program = stream(8);
  EXPECT_EQ(cycles(description, program), 200 + 3 + kFrame);
}

TEST(Caches, ALineOnItsWayIsOneMiss) {
  Program program;
  for (unsigned i = 0; i < 8; ++i) program.load(static_cast<std::uint8_t>(i), 31, 0x10000 + 8 * i);
  const json result = run(two_levels(), {&program});
  EXPECT_EQ(result["caches"]["d"]["misses"], 1);
  EXPECT_EQ(result["caches"]["d"]["late"], 7);
  EXPECT_EQ(result["cycles"], 100 + kFrame);
}

TEST(Caches, AYoungerLoadThatIsReadyEarlierMakesTheMiss) {
  Program program;
  program.load(1, 31, 0x20000).load(2, 1, 0x10000).load(3, 31, 0x10008).add(Kind::kMultiply, {3}, {3});
  // The second load issues after 100 cycles, the third at once. The third one's line is therefore there long before.
  EXPECT_EQ(run(two_levels(), {&program})["caches"]["d"]["misses"], 2);
  EXPECT_EQ(cycles(two_levels(), program), 200 + kFrame);
}

TEST(Caches, ChangedLinesAreWrittenBack) {
  Program program;
  for (unsigned i = 0; i < 64; ++i) program.store(1, 31, 0x10000 + kLine * i);
  const json result = run(two_levels(), {&program});
  EXPECT_EQ(result["caches"]["d"]["write_backs"], 64 - 16);
  EXPECT_EQ(result["memory"]["lines_written"], 0);  // all lines fit into L2
}

TEST(Caches, NextLinePrefetchHalvesTheMissesOfAStream) {
  json description = two_levels();
  description["caches"]["d"]["prefetch"] = {{"kind", "next-line"}, {"lines", 1}};
  const Program program = chase(64, 1);
  const json result = run(description, {&program});
  // Within a page, every hit on a prefetched line fetches the next line. There is one miss per page.
  EXPECT_EQ(result["caches"]["d"]["misses"], 1);
  EXPECT_EQ(result["caches"]["d"]["prefetch_hits"], 63);
  EXPECT_LT(result["cycles"], 64U * 100);
}

TEST(Caches, StridePrefetchFollowsALoadsStride) {
  json description = two_levels();
  description["caches"]["d"] = cache(65536, 4, 2, "l2", 32);
  description["caches"]["d"]["prefetch"] = {{"kind", "stride"}, {"lines", 2}};
  Program program;
  // A loop: the same load moves three lines ahead each time.
  for (unsigned i = 0; i < 20; ++i) program.at(0x1000).load(1, 1, 0x10000 + 3 * kLine * i);
  const json result = run(description, {&program});
  // At the fourth load the prefetcher is sure of the stride. From then on all lines are prefetched; they lie in one page.
  EXPECT_LT(result["caches"]["d"]["misses"], 8);
  EXPECT_GT(result["caches"]["d"]["prefetch_hits"], 10);
}

TEST(Memory, BandwidthIsTheLimitOfAStream) {
  json description = two_levels();
  for (const char* level : {"d", "l2"}) description["caches"][level]["miss_registers"] = 64;
  description["memory"]["bandwidth_gbps"] = 32;  // at 1 GHz 4 bytes a cycle, 16 cycles a line
  EXPECT_EQ(cycles(description, stream(600)) - cycles(description, stream(200)), 400 * 16U);
}

TEST(Memory, BanksAreBusy) {
  json description = two_levels();
  for (const char* level : {"d", "l2"}) description["caches"][level]["miss_registers"] = 64;
  description["memory"]["banks"] = 4;
  description["memory"]["bank_busy_ns"] = 40;
  // The lines go to the four banks in turn: one line in ten cycles.
  EXPECT_EQ(cycles(description, stream(600)) - cycles(description, stream(200)), 400 * 10U);
  Program one_bank;
  for (unsigned i = 0; i < 100; ++i) one_bank.load(static_cast<std::uint8_t>(i % 8), 31, 0x10000 + 4 * kLine * i);
  EXPECT_EQ(cycles(description, one_bank), 99 * 40 + 100 + kFrame);
}

TEST(Memory, CoresShareBandwidth) {
  json description = two_levels();
  for (const char* level : {"d", "l2"}) description["caches"][level]["miss_registers"] = 64;
  description["memory"]["bandwidth_gbps"] = 32;
  description["organisation"]["cores"] = 2;
  const Program first = stream(400);
  const Program second = stream(400, 1000);
  const std::uint64_t alone = cycles(
      [&] {
        json one = description;
        one["organisation"]["cores"] = 1;
        return one;
      }(),
      first);
  const std::uint64_t both = run(description, {&first, &second})["cycles"];
  EXPECT_GE(both, 800 * 16U);
  EXPECT_LE(both, 800 * 16 + 150U);
  EXPECT_LE(alone, 400 * 16 + 150U);
}

TEST(Tlbs, AMissCostsTheSecondLevelOrTheWalk) {
  json description = processor();
  description["tlbs"] = {{"page_bytes", 4096},
                         {"instruction", {{"entries", 4}, {"ways", 4}}},
                         {"data", {{"entries", 4}, {"ways", 4}}},
                         {"second", {{"entries", 64}, {"ways", 4}, {"latency_cycles", 7}}},
                         {"walk_cycles", 30}};
  Program program;
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned page = 0; page < 8; ++page) program.load(1, 1, 0x100000 + 4096 * page);
  }
  const json result = run(description, {&program});
  EXPECT_EQ(result["tlbs"]["data"]["accesses"], 24);
  EXPECT_EQ(result["tlbs"]["data"]["misses"], 24);  // cyclic accesses to eight pages with LRU
  EXPECT_EQ(result["tlbs"]["data"]["walks"], 8);
  // The page of the instructions needs a walk too. Loads take 2 cycles.
  EXPECT_EQ(result["cycles"], 37 + 8 * (2 + 37) + 16 * (2 + 7) + kFrame);
}

TEST(DmaAgent, TakesBandwidthFromTheCores) {
  json description = two_levels();
  for (const char* level : {"d", "l2"}) description["caches"][level]["miss_registers"] = 64;
  description["memory"]["bandwidth_gbps"] = 32;
  const auto of_thousand = [&] { return cycles(description, stream(2000)) - cycles(description, stream(1000)); };
  EXPECT_EQ(of_thousand(), 1000 * 16U);
  // At 8 Gb/s, 64 bytes come in and go out in 64 cycles. That is half of the 32 Gb/s.
  description["dma"] = {{"line_rate_gbps", 8}, {"frame_bytes", 64}, {"gap_bytes", 0}, {"deliver", "memory"}};
  EXPECT_NEAR(static_cast<double>(of_thousand()), 2 * 1000 * 16, 32);
  const Program program = stream(1000);
  const json result = run(description, {&program});
  EXPECT_EQ(result["dma"]["lost"], 0);
  // At the end, 64 lines wait for memory. They came before the frames of that time.
  EXPECT_NEAR(result["dma"]["frames"].get<double>(), result["cycles"].get<double>() / 64, 64 * 16 / 64 + 1);
}

TEST(DmaAgent, LosesFramesThatMemoryCannotTake) {
  json description = two_levels();
  description["memory"]["bandwidth_gbps"] = 8;
  description["dma"] = {{"line_rate_gbps", 16}, {"frame_bytes", 64}, {"gap_bytes", 0}, {"ring_frames", 8}, {"deliver", "memory"}};
  const Program program = chase(500, 1);
  const json result = run(description, {&program});
  // A frame takes 128 cycles of the bus, in and out. One comes every 32 cycles. Without the core, three of four would be lost.
  // The core's load waits for at most the time of eight frames. It takes 64 cycles of 100 to 356, so the core has between 64 and
  // 18 % of the bus.
  const double lost = result["dma"]["lost"].get<double>() / result["dma"]["frames"].get<double>();
  EXPECT_GT(lost, 0.75);
  EXPECT_LT(lost, 1 - 0.25 * (1 - 0.64));
  EXPECT_GT(result["cycles"], 500U * 200);
}

TEST(DmaAgent, FramesThatComeIntoTheCacheAreFoundThere) {
  json description = two_levels();
  description["organisation"]["cores"] = 1;
  Program program;
  for (unsigned i = 0; i < 200; ++i) program.load(1, 1, 0x10000 + kLine * (i % 16));
  const auto l2_misses = [&](const char* deliver) {
    // A frame of 1 KB comes every 1024 cycles into the same 16 lines that the program reads.
    description["dma"] = {{"line_rate_gbps", 8}, {"frame_bytes", 1024}, {"gap_bytes", 0}, {"deliver", deliver}};
    Chip chip(parse_description(description, "/processor"), loads({&program}), {{place(0, 0x10000), 1024, 1}});
    chip.run({});
    return chip.result()["caches"]["l2"]["misses"].get<unsigned>();
  };
  EXPECT_EQ(l2_misses("l2"), 0U);
  EXPECT_GT(l2_misses("memory"), 16U);
}

}  // namespace
}  // namespace dpubench::cores::test
