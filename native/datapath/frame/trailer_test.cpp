#include "datapath/frame/trailer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "datapath/frame/crc32c.hpp"
#include "inputs/random.hpp"

namespace dpubench::datapath {
namespace {

TEST(Crc32c, KnownAnswers) {
  // RFC 3720, appendix B.4.
  std::vector<std::byte> bytes(32);
  EXPECT_EQ(crc32c(bytes), 0x8a9136aaU);
  std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
  EXPECT_EQ(crc32c(bytes), 0x62a8ab43U);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(bytes), 0x46dd794eU);
  EXPECT_EQ(crc32c(std::as_bytes(std::span(std::string_view("123456789")))), 0xe3069283U);
}

TEST(Crc32c, InstructionAndTableAgreeAtEveryLength) {
  inputs::Random random(3);
  std::vector<std::byte> bytes(100);
  random.fill(bytes);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    ASSERT_EQ(crc32c(std::span(bytes).first(length)), crc32c_portable(std::span(bytes).first(length))) << length;
  }
}

class TrailerLengths : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Frames, TrailerLengths, testing::Values(18U, 60U, 65U, 66U, 67U, 1514U, 9014U));

TEST_P(TrailerLengths, ComesBackAsItWasWritten) {
  const bool compact = GetParam() < kLeastFullFrame;
  const Trailer widest{compact ? std::uint16_t{0xff} : std::uint16_t{0xffff}, kMaxPackets - 1,
                       compact ? (std::uint64_t{1} << 40) - 1 : ~std::uint64_t{0}, kMaxTemplates - 1};
  for (const Trailer& written : {Trailer{}, Trailer{7, 123'456'789'012, 98'765'432'109, 77'777}, widest}) {
    std::vector<std::byte> frame(GetParam(), std::byte{0x5a});
    write_trailer(frame, written);
    const std::optional<Trailer> read = read_trailer(frame);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->trial, written.trial);
    EXPECT_EQ(read->number, written.number);
    EXPECT_EQ(read->due_ns, written.due_ns);
    EXPECT_EQ(read->frame, written.frame);
    EXPECT_TRUE(belongs_to(*read, GetParam(), written.trial));
    EXPECT_FALSE(belongs_to(*read, GetParam(), written.trial + 1U));
    for (std::size_t i = 0; i + trailer_bytes(GetParam()) < frame.size(); ++i) ASSERT_EQ(frame[i], std::byte{0x5a}) << i;
  }
}

TEST_P(TrailerLengths, EveryFlippedBitIsFound) {
  std::vector<std::byte> frame(GetParam());
  write_trailer(frame, {1, 2, 3, 4});
  const std::uint32_t bytes = trailer_bytes(GetParam());
  for (std::size_t bit = 0; bit < std::size_t{bytes} * 8; ++bit) {
    std::byte& byte = frame[frame.size() - bytes + bit / 8];
    byte ^= static_cast<std::byte>(1U << bit % 8);
    ASSERT_FALSE(read_trailer(frame)) << bit;
    byte ^= static_cast<std::byte>(1U << bit % 8);
  }
  EXPECT_TRUE(read_trailer(frame));
}

TEST(Trailer, TrialsWrapAroundInTheCompactForm) {
  std::vector<std::byte> frame(60);
  write_trailer(frame, {258, 1, 1, 1});
  EXPECT_TRUE(belongs_to(*read_trailer(frame), 60, 258));
  EXPECT_FALSE(belongs_to(*read_trailer(frame), 60, 259));
  frame.resize(66);
  write_trailer(frame, {258, 1, 1, 1});
  EXPECT_TRUE(belongs_to(*read_trailer(frame), 66, 258));
  EXPECT_FALSE(belongs_to(*read_trailer(frame), 66, 2));
}

TEST(Trailer, FramesWithoutRoomHaveNone) {
  for (std::size_t length = 0; length < kCompactTrailerBytes; ++length) {
    EXPECT_FALSE(read_trailer(std::vector<std::byte>(length)));
  }
}

}  // namespace
}  // namespace dpubench::datapath
