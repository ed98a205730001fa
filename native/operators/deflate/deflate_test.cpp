#include <tuple>

#include "operators/deflate/levels.hpp"
#include "operators/support/codecs/deflate_format.hpp"
#include "operators/support/messages.hpp"
#include "operators/support/testing/codec_test.hpp"

namespace dpubench {
namespace {

using codec_test::Bytes;

constexpr deflate::Effort kEfforts[] = {{4, 16, false}, {32, 64, true}, {512, 258, true}};

std::uint32_t room(std::size_t size) {
  return static_cast<std::uint32_t>(compressed_room({{"stream", "stateless"}}, size));
}

std::uint32_t reused_room(std::size_t size) {
  return static_cast<std::uint32_t>(compressed_room({{"stream", "reused"}}, size));
}

TEST(Deflate, CompressedMessagesComeBackWithinTheBound) {
  inputs::Random random(5);
  deflate::Compressor coder;  // one for all messages: no state of a message may remain for the next
  deflate::Decompressor decoder;
  for (const std::size_t size : codec_test::kSizes) {
    for (const Bytes& plain : codec_test::messages(size, random)) {
      for (const deflate::Effort& effort : kEfforts) {
        Bytes packed(deflate::bound(size));
        packed.resize(coder.compress(plain, packed, effort));
        ASSERT_FALSE(packed.empty());
        Bytes back(size);
        ASSERT_EQ(decoder.decompress(packed, back), size);
        ASSERT_EQ(back, plain);
        packed.pop_back();
        EXPECT_FALSE(decoder.decompress(packed, back).has_value()) << "the last byte is missing";
      }
    }
  }
}

TEST(Deflate, EmptyMessage) {
  Bytes packed(deflate::bound(0));
  packed.resize(deflate::Compressor().compress({}, packed, {}));
  EXPECT_EQ(packed, from_hex("0300"));  // a fixed block that ends at once
  EXPECT_EQ(deflate::Decompressor().decompress(packed, {}), 0U);
}

TEST(Deflate, MatchesAreFoundAcrossTheWholeWindow) {
  inputs::Random random(6);
  Bytes plain(2 * deflate::kWindow);
  random.fill(plain);
  std::copy_n(plain.begin(), deflate::kWindow, plain.begin() + deflate::kWindow);
  Bytes packed(deflate::bound(plain.size()));
  EXPECT_LT(deflate::Compressor().compress(plain, packed, {}), deflate::kWindow + 1024);
}

TEST(Deflate, DamagedStreamsNeverLeaveTheirMemory) {
  inputs::Random random(2);
  deflate::Compressor coder;
  deflate::Decompressor decoder;
  std::size_t rejected = 0;
  for (const std::size_t size : {13U, 100U, 1000U, 5000U}) {
    for (const Bytes& plain : codec_test::messages(size, random)) {
      Bytes packed(deflate::huffman_bound(size));
      packed.resize(random.below(2) == 0 ? coder.compress(plain, packed, {}) : coder.huffman_block(plain, packed));
      rejected += codec_test::rejected_when_damaged(packed, size, random, 100,
                                                    [&](auto in, auto out) { return decoder.decompress(in, out); });
    }
  }
  EXPECT_GT(rejected, 1000U);
}

TEST(Deflate, HeadersThatRfc1951Forbids) {
  deflate::Decompressor decoder;
  Bytes out(64);
  // These headers were assembled bit by bit. zlib refuses them with "missing end-of-block" and "invalid literal/lengths set".
  EXPECT_FALSE(decoder.decompress(from_hex("05c0010900000080a0adfa7f050000000000000000"), out).has_value());
  EXPECT_FALSE(decoder.decompress(from_hex("05c0010900000080a0adf57f44000000000000000000"), out).has_value());
}

TEST(Deflate, EveryEngineDecompressesEveryEngineAtEveryLevel) {
  for (const std::string& level : level_names()) {
    codec_test::verify_all_engines("deflate", {{"direction", "compress"}, {"stream", "stateless"}, {"level", level}}, &room,
                                   9000);
  }
  for (const char* level : {"fast", "default", "best"}) {
    codec_test::verify_all_engines("deflate", {{"direction", "compress"}, {"stream", "reused"}, {"level", level}}, &reused_room);
  }
  codec_test::verify_all_engines("deflate", {{"direction", "compress"}, {"stream", "stateless"}}, &room);
}

TEST(Deflate, KnownAnswers) {
  codec_test::verify_known_answers("deflate", {{"direction", "decompress"}, {"stream", "stateless"}});
  codec_test::verify_known_answers("deflate", {{"direction", "decompress"}, {"stream", "reused"}});
}

TEST(Deflate, LevelsOfDifferentLibrariesAreNeverEqual) {
  const Operator* op = find_operator("deflate");
  ASSERT_NE(op, nullptr);
  const Params params = op->complete({{"level", "zlib-6"}});
  EXPECT_EQ(level_of(params, "zlib"), 6);
  EXPECT_EQ(level_of(params, "libdeflate"), std::nullopt);
  EXPECT_NE(level_unsupported(params, "libdeflate"), "");
  EXPECT_THROW(std::ignore = op->complete({{"level", "6"}}), Error);
  EXPECT_THROW(std::ignore = op->complete({{"level", "zlib-12"}}), Error);
  EXPECT_THROW(std::ignore = op->complete({{"direction", "decompress"}, {"level", "best"}}), Error);
}

}  // namespace
}  // namespace dpubench
