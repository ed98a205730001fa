// Tests how the server splits up its CPU time, on a scripted clock: no thread, no port, no real time.
#include "datapath/server/measured_part.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "datapath/server/receive_work.hpp"
#include "native/expect_error.hpp"

namespace dpubench::datapath {
namespace {

constexpr std::uint64_t kHeld = 2'000;

/// A loop with its clock and the kernel's threads on its CPU. One tick is one nanosecond.
class ScriptedLoop {
 public:
  explicit ScriptedLoop(std::uint64_t begun = 1'000'000) : now(begun) { start.clear(); }

  void begin(std::uint64_t ramp, std::uint64_t duration) {
    start.clear();
    part.begin(ramp, duration);
    began = now;
  }
  /// Repeat one kind of poll until `end` ticks after the trial began.
  void until(std::uint64_t end, std::uint64_t ticks, std::uint32_t packets, std::uint64_t kernel_ticks = 0) {
    while (now < began + end) poll(ticks, packets, kernel_ticks);
  }
  /// Poll once. @param kernel_ticks  ticks of the poll in which the kernel had the CPU
  void poll(std::uint64_t ticks, std::uint32_t packets, std::uint64_t kernel_ticks = 0) {
    now += ticks;
    kernel_ns += kernel_ticks;
    polls.spend(ticks, packets);
    received += packets;
    if (packets != 0 && part.awaits()) part.saw(now, now - began);  // it comes when it is due
    if (!part.is_due(now)) return;
    const MeasuredPart::Reading reading{.received = received, .receive_work_ns = kernel_ns};
    const MeasuredPart::Step step = part.step(now);
    if (step == MeasuredPart::Step::kOpens) part.open(now, polls, reading);
    if (step == MeasuredPart::Step::kCloses) part.close(now, polls, reading);
  }
  [[nodiscard]] CpuUse use() const {
    return cpu_use(part.account().value().polls, part.account().value().reading.receive_work_ns);
  }

  TrialStart start;
  MeasuredPart part{start};
  PollTimes polls{kHeld};
  std::uint64_t now;
  std::uint64_t began = 0;
  std::uint64_t kernel_ns = 0;
  std::uint64_t received = 0;
};

TEST(MeasuredPart, ASaturatedCoreReadsFullyBusyWhateverSetUpAndDrainTake) {
  ScriptedLoop loop;
  loop.begin(50'000'000, 400'000'000);
  loop.until(20'000'000, 50, 0);  // the client has not begun yet
  loop.began = loop.now;
  loop.until(450'000'000, 3'000, 32);
  loop.until(600'000'000, 50, 0);  // the drain, and the wait for collect
  const CpuUse use = loop.use();
  EXPECT_EQ(use.idle_ticks, 0U);
  EXPECT_EQ(use.receive_work_ticks, 0U);
  EXPECT_EQ(use.application_ticks, loop.part.account()->length_ticks);
  EXPECT_NEAR(static_cast<double>(loop.part.account()->length_ticks), 400e6, 1e4);
  EXPECT_NEAR(static_cast<double>(loop.part.account()->reading.received), 400e6 / 3'000 * 32, 64);
  // From begin to collect, a quarter of the same trial is idle time.
  const auto busy = static_cast<double>(loop.polls.busy_ticks);
  EXPECT_NEAR(busy / (busy + static_cast<double>(loop.polls.idle_ticks)), 0.725, 0.005);
}

TEST(MeasuredPart, AHalfBusyCoreReadsHalf) {
  ScriptedLoop loop;
  loop.begin(1'000'000, 100'000'000);
  while (loop.now < loop.began + 101'000'000) {
    loop.poll(1'000, 8);
    for (int i = 0; i < 20; ++i) loop.poll(50, 0);
  }
  const CpuUse use = loop.use();
  const auto length = static_cast<double>(loop.part.account()->length_ticks);
  EXPECT_NEAR(static_cast<double>(use.application_ticks) / length, 0.5, 1e-3);
  EXPECT_EQ(use.application_ticks + use.receive_work_ticks + use.idle_ticks, loop.part.account()->length_ticks);
}

TEST(MeasuredPart, TheKernelsWorkCountsWhereverItKeptTheLoop) {
  ScriptedLoop loop;
  loop.begin(1'000'000, 200'000'000);
  // In every 100 us the kernel receives for 30 us while the loop looks at an empty queue, and for 10 us within a burst that
  // takes 20 us more.
  while (loop.now < loop.began + 201'000'000) {
    loop.poll(30'000 + 100, 0, 30'000);
    loop.poll(30'000, 16, 10'000);
    for (int i = 0; i < 399; ++i) loop.poll(100, 0);
  }
  const CpuUse use = loop.use();
  const auto length = static_cast<double>(loop.part.account()->length_ticks);
  EXPECT_NEAR(static_cast<double>(use.receive_work_ticks) / length, 0.4, 2e-3);
  EXPECT_NEAR(static_cast<double>(use.application_ticks) / length, 0.2, 2e-3);
  EXPECT_NEAR(static_cast<double>(use.idle_ticks) / length, 0.4, 2e-3);
}

TEST(MeasuredPart, ACoreThatTheKernelAndTheLoopShareFullyReadsFull) {
  ScriptedLoop loop;
  loop.begin(1'000'000, 100'000'000);
  while (loop.now < loop.began + 101'000'000) loop.poll(10'000, 16, 7'000);
  const CpuUse use = loop.use();
  EXPECT_EQ(use.idle_ticks, 0U);
  EXPECT_NEAR(static_cast<double>(use.receive_work_ticks) / static_cast<double>(loop.part.account()->length_ticks), 0.7, 1e-3);
}

TEST(MeasuredPart, OfAProgramInTheKernelTheReceiveWorkIsAllThereIs) {
  ScriptedLoop loop;
  loop.begin(1'000'000, 100'000'000);
  loop.part.saw(loop.now, 0);  // a count tells the start: no packet comes to the loop
  while (loop.now < loop.began + 101'000'000) {
    loop.poll(50'000 + 50, 0, 50'000);
    for (int i = 0; i < 1'000; ++i) loop.poll(50, 0);
  }
  const CpuUse use = loop.use();
  EXPECT_EQ(use.application_ticks, 0U);
  EXPECT_NEAR(static_cast<double>(use.receive_work_ticks) / static_cast<double>(loop.part.account()->length_ticks), 0.5, 1e-3);
}

TEST(MeasuredPart, OtherProgramsThatTakeTheCpuAreNotTheKernelsWork) {
  PollTimes polls(kHeld);
  for (int i = 0; i < 1'000; ++i) polls.spend(100, 0);
  polls.spend(500'000, 0);  // another program had the CPU
  const CpuUse use = cpu_use(polls, 20'000);
  EXPECT_EQ(use.receive_work_ticks, 20'000U);
  EXPECT_EQ(use.application_ticks, 0U);
  EXPECT_EQ(use.idle_ticks, 580'000U);
}

TEST(MeasuredPart, APollThatWasHeldUpHasItsOwnTimeToo) {
  PollTimes polls(kHeld);
  for (int i = 0; i < 100; ++i) polls.spend(1'000, 8);
  for (int i = 0; i < 1'000; ++i) polls.spend(100, 0);
  for (int i = 0; i < 10; ++i) polls.spend(5'000, 0);  // 100 of them are the poll's own, as of every idle poll
  const CpuUse use = cpu_use(polls, 60'000);
  EXPECT_EQ(use.receive_work_ticks, 60'000U);
  EXPECT_EQ(use.application_ticks, 100'000U + 10 * 4'900U - 60'000U);
  EXPECT_EQ(use.idle_ticks, 250'000U - 149'000U);
}

TEST(MeasuredPart, TheKernelsWorkIsAtMostTheWholePart) {
  // The kernel's account and the loop's clock end at slightly different times.
  PollTimes polls(kHeld);
  for (int i = 0; i < 10; ++i) polls.spend(100, 8);
  for (int i = 0; i < 20; ++i) polls.spend(100, 0);
  const CpuUse use = cpu_use(polls, 3'001);
  EXPECT_EQ(use.receive_work_ticks, 3'000U);
  EXPECT_EQ(use.application_ticks, 0U);
  EXPECT_EQ(use.idle_ticks, 0U);
}

TEST(MeasuredPart, IsTheScheduleWhateverTheClockOfTheClientSaysAndHoweverLateTheLoopIs) {
  ScriptedLoop loop(987'654'321);
  loop.begin(10'000'000, 50'000'000);
  loop.until(11'000'000, 1'000, 4);
  EXPECT_TRUE(loop.part.is_open());
  loop.until(59'000'000, 1'000, 4);
  loop.poll(8'000'000, 4);  // the loop is kept from the CPU past the end of the part
  EXPECT_NEAR(static_cast<double>(loop.part.account()->length_ticks), 57e6, 2e3);

  // The loop is kept from the CPU when the part begins: the measured time is shorter and ends with the schedule.
  loop.begin(10'000'000, 50'000'000);
  loop.until(1'000'000, 1'000, 4);
  loop.poll(29'000'000, 4);
  loop.until(70'000'000, 1'000, 4);
  EXPECT_NEAR(static_cast<double>(loop.part.account()->length_ticks), 30e6, 2e3);
}

TEST(MeasuredPart, TheEarliestArrivalTellsWhenTheTrialBegan) {
  TrialStart start;
  EXPECT_FALSE(start.get());
  start.saw(5'000'000, 1'000'000);  // this packet waited in a queue
  start.saw(5'500'000, 2'000'000);
  start.saw(9'000'000, 3'000'000);
  EXPECT_EQ(start.get(), 3'500'000U);
  start.clear();
  EXPECT_FALSE(start.get());
}

TEST(MeasuredPart, LoopsOfAServerBeginTogether) {
  TrialStart start;
  start.clear();
  MeasuredPart busy(start);
  MeasuredPart other(start);
  busy.begin(1'000, 5'000);
  other.begin(1'000, 5'000);
  EXPECT_EQ(other.step(20'000), MeasuredPart::Step::kNone);
  busy.saw(20'000, 500);
  EXPECT_EQ(other.step(20'499), MeasuredPart::Step::kNone);
  EXPECT_EQ(other.step(20'500), MeasuredPart::Step::kOpens);  // no packet came to this loop
}

TEST(MeasuredPart, NobodyAskedForIsNone) {
  ScriptedLoop loop;
  loop.begin(0, 0);
  loop.until(10'000'000, 1'000, 4);
  EXPECT_FALSE(loop.part.account());
  loop.begin(1'000'000, 5'000'000);
  loop.until(10'000'000, 1'000, 0);  // no packet came
  EXPECT_FALSE(loop.part.account());
}

TEST(ReceiveWork, IsTheTimeOfItsThreads) {
  const auto self = static_cast<std::uint32_t>(gettid());
  const ReceiveWork work(std::vector<std::uint32_t>{self});
  EXPECT_TRUE(work.is_known());
  const auto before = work.ran_ns();
  ASSERT_TRUE(before);
  volatile std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < 3'000'000; ++i) sum = sum + i;
  EXPECT_GE(work.ran_ns().value(), *before);
  const ReceiveWork none;
  EXPECT_FALSE(none.is_known());
  EXPECT_EQ(none.ran_ns(), 0U);
  test::expect_error([] { const ReceiveWork gone(std::vector<std::uint32_t>{4'194'303}); }, {"receive_work", "4194303"});
}

}  // namespace
}  // namespace dpubench::datapath
