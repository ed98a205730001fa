#include "operators/support/codecs/lz4_block.hpp"
#include "operators/support/testing/codec_test.hpp"

namespace dpubench {
namespace {

using codec_test::Bytes;

Bytes encoded(const Bytes& plain) {
  GreedyMatches matches;
  Bytes packed(lz4::bound(plain.size()));
  packed.resize(lz4::encode(plain, packed, matches));
  return packed;
}

TEST(Lz77, EncodedMessagesComeBackAndEndAsTheFormatDemands) {
  inputs::Random random(1);
  for (const std::size_t size : codec_test::kSizes) {
    for (const Bytes& plain : codec_test::messages(size, random)) {
      const Bytes packed = encoded(plain);
      Bytes back(size);
      ASSERT_EQ(lz4::decode(packed, back), size);
      ASSERT_EQ(back, plain);
      // "The last sequence contains only literals": at least five if the block has a match.
      const std::size_t tail = std::min<std::size_t>(size, 5);
      ASSERT_TRUE(std::equal(packed.end() - static_cast<std::ptrdiff_t>(tail), packed.end(),
                             plain.end() - static_cast<std::ptrdiff_t>(tail)));
    }
  }
}

TEST(Lz77, RepetitionIsFound) {
  EXPECT_LT(encoded(Bytes(65536)).size(), 300U);  // one length byte for each 255 bytes
}

TEST(Lz77, RoomBelowTheBoundIsRefused) {
  GreedyMatches matches;
  Bytes out(lz4::bound(100) - 1);
  EXPECT_EQ(lz4::encode(Bytes(100), out, matches), 0U);
}

TEST(Lz77, DamagedBlocksNeverLeaveTheirMemory) {
  inputs::Random random(2);
  std::size_t rejected = 0;
  for (const std::size_t size : {13U, 100U, 1000U, 5000U}) {
    for (const Bytes& plain : codec_test::messages(size, random)) {
      rejected += codec_test::rejected_when_damaged(encoded(plain), size, random, 100, &lz4::decode);
    }
  }
  EXPECT_GT(rejected, 1000U);  // of 3,200; the others decode to other bytes, which the format cannot detect
}

TEST(Lz77, EveryEngineDecodesEveryEngine) {
  codec_test::verify_all_engines("lz77", {{"direction", "encode"}},
                                 [](std::size_t size) { return static_cast<std::uint32_t>(lz4::bound(size)); });
}

TEST(Lz77, KnownAnswers) {
  codec_test::verify_known_answers("lz77", {{"direction", "decode"}});
}

TEST(Lz77, PortableRejectsDistanceZero) {
  // The format description calls distance 0 invalid. lz4 1.9.4 does not check it, so this is not a known answer for every engine.
  const Bytes block = {std::byte{0x14}, std::byte{'a'}, std::byte{0}, std::byte{0}, std::byte{0x50},
                       std::byte{1},    std::byte{2},   std::byte{3}, std::byte{4}, std::byte{5}};
  Bytes out(64);
  EXPECT_FALSE(lz4::decode(block, out).has_value());
}

}  // namespace
}  // namespace dpubench
