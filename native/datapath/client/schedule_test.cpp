#include "datapath/client/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dpubench::datapath {
namespace {

TrialSpec trial_of(Schedule schedule, double rate_pps) {
  TrialSpec trial;
  trial.schedule = schedule;
  trial.rate_pps = rate_pps;
  return trial;
}

std::vector<std::uint64_t> take(DueTimes times, std::size_t n) {
  std::vector<std::uint64_t> due;
  for (std::size_t i = 0; i < n; ++i) due.push_back(times.next());
  return due;
}

class Schedules : public testing::Test {
 protected:
  DueCycle poisson = DueCycle::poisson(1);
  DueCycle none;
};

TEST_F(Schedules, ConstantHasTheRateToThePacket) {
  // No binary fraction holds this distance.
  const auto due = take({trial_of(Schedule::kConstant, 3e6), poisson, none}, 3'000'001);
  for (std::size_t i = 0; i < due.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(due[i]), static_cast<double>(i) * 1000.0 / 3.0, 1.0) << i;
  }
  EXPECT_EQ(take({trial_of(Schedule::kInterval, 1e6), poisson, none}, 3), (std::vector<std::uint64_t>{0, 1000, 2000}));
}

TEST_F(Schedules, BurstsAreBackToBackAtTheMeanRate) {
  TrialSpec trial = trial_of(Schedule::kBurst, 1e6);
  trial.burst_packets = 3;
  EXPECT_EQ(take({trial, poisson, none}, 7), (std::vector<std::uint64_t>{0, 0, 0, 3000, 3000, 3000, 6000}));
}

TEST_F(Schedules, PoissonDistancesAreExponentialAndComeAtTheRate) {
  const std::size_t n = poisson.at.size();
  const auto due = take({trial_of(Schedule::kPoisson, 1e6), poisson, none}, 2 * n + 1);
  EXPECT_NEAR(static_cast<double>(due[2 * n]) / static_cast<double>(2 * n), 1000.0, 0.01);
  double squares = 0;
  std::size_t below_mean = 0;
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_LE(due[i], due[i + 1]);
    const auto gap = static_cast<double>(due[i + 1] - due[i]);
    squares += gap * gap;
    below_mean += gap < 1000 ? 1 : 0;
  }
  // The mean square is 2, and a share of 1 - 1/e is below the mean. Both hold within five standard errors.
  EXPECT_NEAR(squares / static_cast<double>(n) / 1e6, 2.0, 5 * std::sqrt(20.0 / static_cast<double>(n)));
  EXPECT_NEAR(static_cast<double>(below_mean) / static_cast<double>(n), 1 - std::exp(-1), 0.005);
}

TEST_F(Schedules, TheSameSeedGivesTheSameTimes) {
  EXPECT_EQ(DueCycle::poisson(5).at, DueCycle::poisson(5).at);
  EXPECT_NE(DueCycle::poisson(5).at, DueCycle::poisson(6).at);
}

TEST_F(Schedules, RecordedTimesRepeatAndNeverGoBack) {
  const std::vector<std::uint64_t> times = {5'000'000, 5'001'000, 5'000'500, 5'003'000};
  const DueCycle recorded = DueCycle::recorded(times);
  // The three distances take 3 us (stretched to 4 us: at least 1 us a packet), then one more distance follows.
  EXPECT_EQ(recorded.at, (std::vector<double>{0, 1000, 1000, 3000}));
  const auto due = take({trial_of(Schedule::kRecorded, 0), poisson, recorded}, 9);
  for (std::size_t i = 0; i + 1 < due.size(); ++i) EXPECT_LE(due[i], due[i + 1]);
  EXPECT_EQ(due[4] - due[0], due[8] - due[4]);
  EXPECT_GT(due[4], due[3]);
  EXPECT_GT(DueCycle::recorded(std::vector<std::uint64_t>{7}).period, 0);
}

TEST_F(Schedules, RoomIsEnoughForEveryPacket) {
  for (const Schedule schedule : {Schedule::kConstant, Schedule::kPoisson, Schedule::kBurst}) {
    const TrialSpec trial = trial_of(schedule, 1.7e6);
    DueTimes times(trial, poisson, none);
    const std::uint64_t room = times.at_most_before(100'000'000);
    std::uint64_t packets = 0;
    while (times.next() < 100'000'000) ++packets;
    EXPECT_GE(room, packets);
    EXPECT_NEAR(static_cast<double>(packets), 170'000, 2'000);
  }
}

}  // namespace
}  // namespace dpubench::datapath
