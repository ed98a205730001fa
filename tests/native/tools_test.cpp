// Outside programs: versions, processor times, output that does not end.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "expect_error.hpp"
#include "measure/cpu_times.hpp"
#include "tools/known.hpp"
#include "tools/supervised.hpp"

namespace {

using namespace dpubench::tools;
using dpubench::measure::cpu_times;
using dpubench::test::expect_error;

TEST(ToolVersion, IsTheFirstNumberWithAPoint) {
  EXPECT_EQ(version_in("stress-ng, version 0.15.06 (gcc 12.2, x86_64 Linux 6.1)"), "0.15.06");
  EXPECT_EQ(version_in("iperf 3.12 (cJSON 1.7.15)\nLinux vm"), "3.12");
  EXPECT_EQ(version_in("sockperf 3.7-0.git737d1e3e5576\n"), "3.7");
  EXPECT_EQ(version_in("version 7 of 2022. And 1."), "");
  EXPECT_EQ(version_in(""), "");
}

TEST(CpuTimes, AreTicksOfTheFirstLine) {
  const auto times = cpu_times("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n", 100);
  EXPECT_EQ(times["user_ns"], 10'000'000U);
  EXPECT_EQ(times["softirq_ns"], 70'000'000U);
  EXPECT_EQ(times["steal_ns"], 80'000'000U);
  EXPECT_EQ(cpu_times("cpu  1 2 3 4\n", 250)["idle_ns"], 16'000'000U);
  EXPECT_EQ(cpu_times("cpu  1 2 3 4\n", 250)["softirq_ns"], 0U);
  expect_error([] { cpu_times("cpu0 1 2 3 4\n", 100); }, {"has no sum over all CPUs"});
}

TEST(CollectedOutput, KeepsBeginningAndEnd) {
  Collected short_one(10);
  short_one.add("abc");
  short_one.add("defghi");
  EXPECT_TRUE(short_one.contains("bcde"));
  const Text whole = short_one.take();
  EXPECT_EQ(whole.text, "abcdefghi");
  EXPECT_FALSE(whole.cut);

  Collected long_one(10);
  for (int i = 0; i < 1000; ++i) long_one.add("0123456789");
  long_one.add("END");
  const Text cut = long_one.take();
  EXPECT_EQ(cut.text, "0123489END");
  EXPECT_TRUE(cut.cut);
}

TEST(SupervisedProgram, EndsWithWhatItStarted) {
  const Ended ended = run_to_end({{"/bin/sh", "-c", "sleep 60 & echo begun; exit 3"}, "", 30});
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.out.text, "begun\n");
  EXPECT_LT(ended.elapsed_s, 30);
}

TEST(SupervisedProgram, IsEndedWhenItsTimeIsOver) {
  const Ended ended = run_to_end({{"/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done"}, "", 0.2});
  EXPECT_TRUE(ended.over_time);
  EXPECT_EQ(ended.signal, 9);
}

TEST(SupervisedProgram, OfRootGivesUpItsRights) {
  Spec spec{{"/bin/sh", "-c", "id -u; id -g; grep CapEff /proc/self/status"}, "", 30, true};
  const Ended ended = run_to_end(spec);
  if (geteuid() == 0) {
    EXPECT_EQ(ended.out.text, "65534\n65534\nCapEff:\t0000000000000000\n");
  } else {
    EXPECT_EQ(ended.out.text, std::to_string(geteuid()) + "\n" + std::to_string(getegid()) + "\nCapEff:\t0000000000000000\n");
  }
}

TEST(SupervisedProgram, ThatCannotBeStartedSaysWhy) {
  expect_error([] { run_to_end({{"/nonexistent/program"}, "", 1}); }, {"/nonexistent/program: cannot be started: No such file"});
  expect_error([] { run_to_end({{"/bin/sh"}, "/nonexistent", 1}); }, {"cannot be started: No such file"});
}

}  // namespace
