// Tests of resources that are booked out of order.

#include "cores/model/calendar.hpp"

#include <gtest/gtest.h>

namespace dpubench::cores {
namespace {

TEST(Places, AnEarlierRequestFindsThePlaceFree) {
  Now now;
  Places one(1, now);
  one.take(100, 150);
  EXPECT_EQ(one.first_free(20), 20U);
  EXPECT_EQ(one.first_free(120), 150U);
  EXPECT_EQ(one.first_gap(20, 80), 20U);   // up to 100
  EXPECT_EQ(one.first_gap(20, 81), 150U);  // the place would still be taken when the other stretch begins
  EXPECT_EQ(one.first_gap(99, 2), 150U);
}

TEST(Places, AsManyAsThereAreAtOnce) {
  Now now;
  Places two(2, now);
  two.take(10, 50);
  two.take(20, 40);
  EXPECT_EQ(two.first_free(15), 15U);
  EXPECT_EQ(two.first_free(25), 40U);
  EXPECT_EQ(two.first_gap(15, 10), 40U);
  now.cycle = 45;
  EXPECT_EQ(two.first_free(45), 45U);
}

TEST(Pipe, PassesSoManyBytesACycleWhoeverComesFirst) {
  Now now;
  Pipe pipe(4, now);
  EXPECT_EQ(pipe.take(1600, 64), 0U);   // 16 cycles
  EXPECT_EQ(pipe.take(1600, 64), 16U);  // behind it
  EXPECT_EQ(pipe.take(160, 64), 0U);    // long before both
  EXPECT_EQ(pipe.take(1600, 64), 32U);
}

TEST(Pipe, FractionsOfAByteAddUp) {
  Now now;
  Pipe pipe(0.75, now);
  Cycle late = 0;
  for (int i = 0; i < 300; ++i) late = pipe.take(0, 64);
  // 300 lines of 64 bytes at 0.75 bytes a cycle end after 25,600 cycles. One line alone would take 86.
  EXPECT_EQ(late, 25600U - 86);
}

TEST(Pipe, WithoutALimitNothingWaits) {
  Now now;
  Pipe pipe(0, now);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(pipe.take(5, 64), 0U);
}

}  // namespace
}  // namespace dpubench::cores
