#include "operators/support/codecs/snappy_format.hpp"
#include "operators/support/testing/codec_test.hpp"

namespace dpubench {
namespace {

using codec_test::Bytes;

Bytes encoded(const Bytes& plain) {
  GreedyMatches matches;
  Bytes packed(snappy_format::bound(plain.size()));
  packed.resize(snappy_format::encode(plain, packed, matches));
  return packed;
}

TEST(Snappy, CompressedMessagesComeBack) {
  inputs::Random random(1);
  for (const std::size_t size : codec_test::kSizes) {
    for (const Bytes& plain : codec_test::messages(size, random)) {
      const Bytes packed = encoded(plain);
      Bytes back(size);
      ASSERT_EQ(snappy_format::decode(packed, back), size);
      ASSERT_EQ(back, plain);
    }
  }
}

TEST(Snappy, RoomBelowTheBoundIsRefused) {
  GreedyMatches matches;
  Bytes out(snappy_format::bound(100) - 1);
  EXPECT_EQ(snappy_format::encode(Bytes(100), out, matches), 0U);
}

TEST(Snappy, DamagedStreamsNeverLeaveTheirMemory) {
  inputs::Random random(2);
  std::size_t rejected = 0;
  for (const std::size_t size : {13U, 100U, 1000U, 5000U}) {
    for (const Bytes& plain : codec_test::messages(size, random)) {
      rejected += codec_test::rejected_when_damaged(encoded(plain), size, random, 100, &snappy_format::decode);
    }
  }
  EXPECT_GT(rejected, 1000U);
}

TEST(Snappy, EveryEngineDecompressesEveryEngine) {
  codec_test::verify_all_engines("snappy", {{"direction", "compress"}},
                                 [](std::size_t size) { return static_cast<std::uint32_t>(snappy_format::bound(size)); });
}

TEST(Snappy, KnownAnswers) {
  codec_test::verify_known_answers("snappy", {{"direction", "decompress"}});
}

}  // namespace
}  // namespace dpubench
