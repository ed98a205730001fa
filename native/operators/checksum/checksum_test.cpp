// Tests of checksum: the word-wise sum against the byte-wise one at every length and alignment, folding, the rate in bytes, and
// the sizes of the incremental mode.

#include <gtest/gtest.h>

#include <vector>

#include "inputs/random.hpp"
#include "operators/operator.hpp"
#include "operators/support/division/segments.hpp"
#include "packet/checksum.hpp"
#include "packet/checksum_oracle.hpp"

namespace dpubench {
namespace {

TEST(Checksum, EveryLengthAndAlignment) {
  std::vector<std::byte> bytes(300);
  inputs::Random random(3);
  random.fill(bytes);
  for (std::size_t start = 0; start < 8; ++start) {
    for (std::size_t length = 0; start + length <= bytes.size(); ++length) {
      const std::span<const std::byte> message = std::span(bytes).subspan(start, length);
      const std::uint32_t plain = ~checksum::plain_sum(0, message) & 0xffffU;
      ASSERT_EQ(wire::network16(checksum::finish(checksum::add(0, message.data(), length))), plain) << start << '+' << length;
      std::vector<std::byte> copy(length + 1, std::byte{0x5a});
      const checksum::Sum sum = checksum::copy_and_add(0, copy.data(), message.data(), length);
      ASSERT_EQ(wire::network16(checksum::finish(sum)), plain) << "copied, " << start << '+' << length;
      ASSERT_TRUE(std::equal(message.begin(), message.end(), copy.begin()));
      ASSERT_EQ(copy.back(), std::byte{0x5a}) << "one byte too many copied";
    }
  }
}

TEST(Checksum, FoldsTheLargestSums) {
  EXPECT_EQ(checksum::fold(0), 0);
  EXPECT_EQ(checksum::fold(0xffff), 0xffff);
  EXPECT_EQ(checksum::fold(0x10000), 1);
  EXPECT_EQ(checksum::fold(0xffffffff), 0xffff);
  EXPECT_EQ(checksum::fold(0xffffffffffffffff), 0xffff);
  EXPECT_EQ(checksum::fold(0xfffffffffffffffe), 0xfffe);
  EXPECT_EQ(checksum::fold(0xffff0001ffff), 0x0001);
}

TEST(Checksum, OnlyFullSumsHaveARateOfBytes) {
  const Operator* const op = find_operator("checksum");
  ASSERT_NE(op, nullptr);
  Work work;
  const Operator::WindowTotals totals{.operations = 2, .in_bytes = 2048, .out_bytes = 0, .result_sum = 0};
  work.params = op->complete({{"mode", "full"}});
  EXPECT_EQ(op->rate_bytes(work, totals), 2048U);
  work.params = op->complete({{"mode", "incremental"}});
  EXPECT_EQ(op->rate_bytes(work, totals), 0U);
}

TEST(Checksum, IncrementalNeedsAPacket) {
  const Operator* const op = find_operator("checksum");
  ASSERT_NE(op, nullptr);
  for (const char* size : {"1", "39", "65536"}) {
    EXPECT_THROW(static_cast<void>(op->complete({{"mode", "incremental"}, {"size", size}})), Error) << size;
    EXPECT_NO_THROW(static_cast<void>(op->complete({{"mode", "full"}, {"size", size}}))) << size;
  }
  EXPECT_NO_THROW(static_cast<void>(op->complete({{"mode", "incremental"}, {"size", "40"}})));
}

}  // namespace
}  // namespace dpubench
