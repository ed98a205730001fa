#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "operators/support/codecs/deflate_format.hpp"
#include "operators/support/testing/codec_test.hpp"

namespace dpubench {
namespace {

using codec_test::Bytes;
using Frequencies = std::vector<std::uint32_t>;

/// The least total length of a prefix code of at most `limit` bits. The search tries all shapes of code trees: at each depth,
/// some of the open nodes become leaves for the most frequent symbols left, and each other node splits in two.
class LeastCost {
 public:
  LeastCost(Frequencies frequencies, unsigned limit) : limit_(limit) {
    std::erase(frequencies, 0U);
    std::sort(frequencies.rbegin(), frequencies.rend());
    rest_.assign(frequencies.size() + 1, 0);
    for (std::size_t i = frequencies.size(); i-- > 0;) rest_[i] = rest_[i + 1] + frequencies[i];
  }
  std::uint64_t operator()() { return rest_.size() == 2 ? rest_[0] : below(0, 0, 1); }

 private:
  static constexpr std::uint64_t kImpossible = std::numeric_limits<std::uint64_t>::max() / 2;
  /// Return the cost below `depth`, where `placed` symbols have codes and `open` nodes are left.
  std::uint64_t below(unsigned depth, std::size_t placed, std::size_t open) {
    const std::size_t left = rest_.size() - 1 - placed;
    if (left == 0) return 0;
    if (depth == limit_ || open == 0) return kImpossible;
    open = std::min(2 * open, left);  // every symbol left goes one level down; more nodes than symbols are useless
    const auto key = std::tuple(depth, placed, open);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    std::uint64_t best = kImpossible;
    for (std::size_t leaves = 0; leaves <= open; ++leaves)
      best = std::min(best, below(depth + 1, placed + leaves, open - leaves));
    return known_[key] = best + rest_[placed];
  }

  unsigned limit_;
  std::vector<std::uint64_t> rest_;
  std::map<std::tuple<unsigned, std::size_t, std::size_t>, std::uint64_t> known_;
};

void expect_optimal(const Frequencies& frequencies, unsigned limit) {
  HuffmanCode huffman;
  std::vector<std::uint8_t> lengths(frequencies.size());
  huffman.lengths(frequencies, limit, lengths);
  std::uint64_t cost = 0;
  std::uint64_t kraft = 0;
  std::size_t used = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    ASSERT_EQ(lengths[i] == 0, frequencies[i] == 0) << "symbol " << i;
    ASSERT_LE(lengths[i], limit);
    if (lengths[i] == 0) continue;
    ++used;
    cost += std::uint64_t{frequencies[i]} * lengths[i];
    kraft += std::uint64_t{1} << (limit - lengths[i]);
  }
  if (used > 1) {
    EXPECT_EQ(kraft, std::uint64_t{1} << limit) << "the code is not complete";
  }
  EXPECT_EQ(cost, LeastCost(frequencies, limit)());
}

TEST(HuffmanCode, OptimalForRandomFrequencies) {
  inputs::Random random(3);
  for (int round = 0; round < 150; ++round) {
    const std::size_t symbols = 1 + random.below(24);
    Frequencies frequencies(symbols);
    for (std::uint32_t& f : frequencies) f = static_cast<std::uint32_t>(random.below(std::uint64_t{1} << random.below(16)));
    if (std::accumulate(frequencies.begin(), frequencies.end(), 0U) == 0) frequencies[0] = 1;
    for (const unsigned limit : {5U, 7U, 15U}) expect_optimal(frequencies, limit);
  }
}

TEST(HuffmanCode, OptimalWhereTheLimitBites) {
  Frequencies fibonacci = {1, 1};  // frequencies that give the deepest trees
  while (fibonacci.size() < 32) fibonacci.push_back(fibonacci[fibonacci.size() - 1] + fibonacci[fibonacci.size() - 2]);
  for (const unsigned limit : {5U, 6U, 10U, 15U}) expect_optimal(fibonacci, limit);
}

TEST(HuffmanCode, KnownCode) {
  // RFC 1951 section 3.2.2: lengths (3, 3, 3, 3, 3, 2, 4, 4) give A 010 ... F 00, G 1110, H 1111. The codes are stored reversed.
  const std::vector<std::uint8_t> lengths = {3, 3, 3, 3, 3, 2, 4, 4};
  std::vector<std::uint16_t> codes(lengths.size());
  canonical_codes(lengths, codes);
  EXPECT_EQ(codes, (std::vector<std::uint16_t>{0b010, 0b110, 0b001, 0b101, 0b011, 0b00, 0b0111, 0b1111}));
}

TEST(Huffman, BlocksComeBackAndHoldNothingButOneDynamicBlock) {
  inputs::Random random(4);
  deflate::Compressor coder;
  deflate::Decompressor decoder;
  for (const std::size_t size : codec_test::kSizes) {
    for (const Bytes& plain : codec_test::messages(size, random)) {
      Bytes packed(deflate::huffman_bound(size));
      packed.resize(coder.huffman_block(plain, packed));
      ASSERT_FALSE(packed.empty());
      EXPECT_EQ(std::to_integer<unsigned>(packed[0]) & 7, 0b101U);  // last block, dynamic
      Bytes back(size);
      ASSERT_EQ(decoder.decompress(packed, back), size);
      ASSERT_EQ(back, plain);
    }
  }
}

TEST(Huffman, RoomBelowTheBoundIsRefused) {
  Bytes out(deflate::huffman_bound(100) - 1);
  EXPECT_EQ(deflate::Compressor().huffman_block(Bytes(100), out), 0U);
}

TEST(Huffman, EveryEngineDecodesEveryEngine) {
  codec_test::verify_all_engines("huffman", {{"direction", "encode"}}, [](std::size_t size) {
    return static_cast<std::uint32_t>(deflate::huffman_bound(size) + size / 64);
  });
}

TEST(Huffman, KnownAnswers) {
  codec_test::verify_known_answers("huffman", {{"direction", "decode"}});
}

}  // namespace
}  // namespace dpubench
