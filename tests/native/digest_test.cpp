#include "inputs/digest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "inputs/random.hpp"

namespace dpubench::inputs {
namespace {

std::string sha256(std::string_view text) {
  return Sha256::hex(Sha256::of(std::as_bytes(std::span(text))));
}

// NIST, "SHA256: examples" of the Cryptographic Standards and Guidelines (FIPS 180-4), and the empty message of the CAVP short
// message vectors.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheDigestOfTheWhole) {
  std::vector<std::byte> data(300);
  Random(1).fill(data);
  const auto whole = Sha256::of(data);
  for (std::size_t piece = 1; piece <= 130; ++piece) {
    Sha256 sha;
    for (std::size_t at = 0; at < data.size(); at += piece)
      sha.update(std::span(data).subspan(at, std::min(piece, data.size() - at)));
    ASSERT_EQ(sha.finish(), whole) << "pieces of " << piece;
  }
}

TEST(Sha256, EveryLengthAroundABlockDiffers) {
  std::vector<std::string> seen;
  for (std::size_t length = 50; length < 140; ++length) {
    const std::string digest = sha256(std::string(length, 'x'));
    for (const std::string& other : seen) ASSERT_NE(digest, other);
    seen.push_back(digest);
  }
}

}  // namespace
}  // namespace dpubench::inputs
