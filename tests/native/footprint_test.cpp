// Footprints: how many messages and buffers a group has, and that cache lines are counted, not bytes that nobody reads.

#include "operators/footprint.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "inputs/store.hpp"

namespace dpubench {
namespace {

constexpr protocol::Caches kCaches{.l1d = 32U << 10, .l2 = 1U << 20, .l3 = 32U << 20};
constexpr std::uint64_t kPlenty = std::uint64_t{64} << 30;

protocol::JobGroup group(protocol::Footprint footprint, std::uint32_t threads = 1) {
  protocol::JobGroup g;
  g.footprint = footprint;
  g.threads = threads;
  return g;
}

/// Names the first operator of `needed` that a build with fewer of them (Meson option `only`) does not have; empty: it has all.
std::string missing(std::initializer_list<const char*> needed) {
  for (const char* name : needed) {
    if (find_operator(name) == nullptr) return std::string("this build has no operator ") + name;
  }
  return {};
}

#define NEEDS(...) \
  if (const std::string reason = missing({__VA_ARGS__}); !reason.empty()) GTEST_SKIP() << reason

struct Prepared {
  const Operator* op = nullptr;
  std::unique_ptr<Work> work;
};

Prepared prepared(const char* name, const Params& given, std::uint32_t items) {
  Prepared p{find_operator(name), nullptr};
  inputs::Store store({}, 1, {});
  const Params params = p.op->complete(given);
  p.work = p.op->prepare(params, store, {items});
  p.work->params = params;
  return p;
}

TEST(Footprint, StreamOfLookUpsFillsLinesNotPackets) {
  NEEDS("toeplitz");
  // A look-up reads one line of a packet of 340 bytes on average: with four times L2 of packets, all that is read fits L2.
  const Prepared p = prepared("toeplitz", {}, 4096);
  const RingSize ring = ring_size(*p.op, *p.work, group(protocol::Footprint::kStream), 32, 0, kCaches, 0);
  EXPECT_TRUE(ring.capped.empty()) << ring.capped;
  const Extent found = extent(*p.op, *p.work, ring.buffers);
  EXPECT_EQ(found.touched_bytes, stream_bytes(kCaches));
  EXPECT_EQ(ring.buffers, stream_bytes(kCaches) / 64);
  EXPECT_EQ(found.distinct_messages, 4096U);
  ASSERT_TRUE(found.distinct_keys);
  EXPECT_LT(*found.distinct_keys, 4096U) << "flows come back";
  EXPECT_GT(*found.distinct_keys, 1000U);
}

TEST(Footprint, MemoryOfAllThreadsIsTwiceTheLastLevel) {
  NEEDS("checksum");
  const Prepared p = prepared("checksum", {{"mode", "incremental"}, {"size", "64"}}, 64);
  for (const std::uint32_t threads : {1U, 4U}) {
    const auto g = group(protocol::Footprint::kMemory, threads);
    const RingSize ring = ring_size(*p.op, *p.work, g, 32, 0, kCaches, kPlenty);
    EXPECT_TRUE(ring.capped.empty()) << ring.capped;
    EXPECT_EQ(extent(*p.op, *p.work, ring.buffers).touched_bytes * threads, 2 * kCaches.l3);
  }
}

TEST(Footprint, MemoryIsCappedByWhatIsFreeAndSaysWhy) {
  const Prepared p = prepared("crc", {}, 64);
  protocol::Caches large = kCaches;
  large.l3 = 300U << 20;
  const auto g = group(protocol::Footprint::kMemory);
  EXPECT_TRUE(ring_size(*p.op, *p.work, g, 32, 0, large, kPlenty).capped.empty());
  const RingSize ring = ring_size(*p.op, *p.work, g, 32, 0, large, std::uint64_t{1} << 30);
  const std::size_t touched = extent(*p.op, *p.work, ring.buffers).touched_bytes;
  EXPECT_LE(touched, std::size_t{1} << 28);
  EXPECT_NE(ring.capped.find("needs 600 MiB"), std::string::npos) << ring.capped;
  EXPECT_NE(ring.capped.find("fills 256 MiB per thread, and L3 holds 300 MiB"), std::string::npos) << ring.capped;
}

TEST(Footprint, ResidentIs32BuffersOrWhatIsInFlight) {
  const Prepared p = prepared("crc", {}, 64);
  const auto g = group(protocol::Footprint::kResident);
  EXPECT_EQ(ring_size(*p.op, *p.work, g, 0, 0, kCaches, 0).buffers, 32U);
  EXPECT_EQ(ring_size(*p.op, *p.work, g, 512, 0, kCaches, 0).buffers, 512U);
  EXPECT_EQ(extent(*p.op, *p.work, 32).distinct_messages, 32U);
}

TEST(Footprint, EveryMessageHasItsTurn) {
  // On caches so small that four times L2 hold fewer.
  const Prepared p = prepared("crc", {{"size", "64"}}, 5000);
  protocol::Caches small = kCaches;
  small.l2 = 64U << 10;
  const RingSize ring = ring_size(*p.op, *p.work, group(protocol::Footprint::kStream), 32, 0, small, 0);
  EXPECT_EQ(ring.buffers, 5000U);
}

TEST(Footprint, ATraceHasNoMoreThanItRuns) {
  NEEDS("lpm", "toeplitz");
  const Operator& op = *find_operator("lpm");
  const auto g = group(protocol::Footprint::kStream);
  EXPECT_EQ(distinct_messages(op, op.complete({}), g, 100), 100U);
  EXPECT_EQ(distinct_messages(op, op.complete({}), g, 5), 32U);
  const Prepared p = prepared("toeplitz", {}, 100);
  EXPECT_EQ(ring_size(*p.op, *p.work, g, 32, 100, kCaches, 0).buffers, 128U) << "whole bursts of 32";
}

TEST(Footprint, MessagesDifferInNumberThatPredictorsDoNotLearn) {
  NEEDS("deflate", "huffman", "lz77", "snappy", "regex", "lpm");
  const auto stream = group(protocol::Footprint::kStream);
  const auto of = [&](const char* name, const Params& given, const protocol::JobGroup& g) {
    const Operator& op = *find_operator(name);
    return distinct_messages(op, op.complete(given), g, 0);
  };
  // 4 MiB of them: beyond the windows of the codecs (64 KiB at most), and beyond what branch predictors learn.
  for (const char* name : {"deflate", "huffman", "lz77", "snappy"}) {
    for (const std::uint32_t size : {64U, 1024U, 16384U}) {
      EXPECT_GE(std::uint64_t{of(name, {{"size", std::to_string(size)}}, stream)} * size, 4U << 20) << name;
    }
  }
  EXPECT_GE(of("regex", {}, stream), 4096U);
  EXPECT_GT(of("lpm", {}, group(protocol::Footprint::kMemory)), of("lpm", {}, stream));
}

TEST(Footprint, PackingCountsWhatIsReadAlone) {
  NEEDS("deflate");
  // How much is written differs from engine to engine.
  const Operator& op = *find_operator("deflate");
  const Item item{std::vector<std::byte>(1000), {}, 5000};
  EXPECT_EQ(touched_bytes(op, op.complete({{"direction", "compress"}}), item), 1024U);
  EXPECT_EQ(touched_bytes(op, op.complete({{"direction", "decompress"}}), item), 1024U + 5056U);
}

}  // namespace
}  // namespace dpubench
