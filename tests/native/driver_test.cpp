// The timed loop: what it keeps under way, and that nothing is lost or given out twice, whatever the order in which a lane
// completes.

#include "operators/driver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <set>

#include "expect_error.hpp"
#include "operators/operator.hpp"

namespace dpubench {
namespace {

constexpr std::uint32_t kBurst = 4;
constexpr std::uint32_t kGivesIn = 300;  // polls

std::vector<Item> items(std::size_t count) {
  std::vector<Item> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back({std::vector<std::byte>(8, static_cast<std::byte>(i)), {}, 8});
  return all;
}

struct Behaviour {
  std::uint32_t room = 1000;   ///< bursts that it takes
  std::uint32_t patience = 0;  ///< bursts that it wants before it completes any
  std::uint64_t lost = ~0ULL;  ///< number of the burst that it never gives back
  bool refuses_everything = false;
};

/// Completes any of what it holds, and asserts the contract of lanes from its side.
class ShufflingLane final : public Lane {
 public:
  explicit ShufflingLane(Behaviour behaviour) : behaviour_(behaviour) {}

  bool submit(Burst& burst) noexcept override {
    if (behaviour_.refuses_everything || held_.size() == behaviour_.room) {
      ++refused;
      return false;
    }
    EXPECT_TRUE(under_way_.insert(&burst).second) << "a burst that is under way was submitted again";
    peak = std::max(peak, under_way_.size());
    if (taken_++ != behaviour_.lost) held_.push_back(&burst);
    return true;
  }

  std::uint32_t poll(std::span<Burst*> done) noexcept override {
    idle_ = held_.size() <= behaviour_.patience ? idle_ + 1 : 0;
    if (idle_ > 0 && idle_ < kGivesIn) return 0;  // the driver waits for the last of a window: they will not become more
    idle_ = 0;
    std::uint32_t count = 0;
    for (; count < done.size() && !held_.empty() && (count == 0 || random_() % 4 != 0); ++count) {
      const std::size_t which = random_() % held_.size();
      Burst* const burst = held_[which];
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
      under_way_.erase(burst);
      for (std::uint32_t i = 0; i < burst->n; ++i) {
        std::memcpy(burst->out[i], burst->in[i], 8);
        burst->out_len[i] = 8;
        burst->status[i] = kStatusOk;
        burst->result[i] = 0;
      }
      done[count] = burst;
    }
    return count;
  }
  [[nodiscard]] std::uint32_t depth() const noexcept override { return 1000; }
  void settle(Burst& burst) noexcept override { settled.push_back(&burst); }

  std::vector<const Burst*> settled;
  std::size_t peak = 0;
  std::size_t refused = 0;

 private:
  Behaviour behaviour_;
  std::minstd_rand random_{1};
  std::vector<Burst*> held_;
  std::set<Burst*> under_way_;
  std::uint64_t taken_ = 0;
  std::uint32_t idle_ = 0;
};

struct Case {
  const char* name;
  std::size_t buffers;
  std::size_t most_bursts;
  Behaviour behaviour;
  std::size_t peak;  ///< expected
};

class Drives : public testing::TestWithParam<Case> {};

TEST_P(Drives, EverythingOnceAndNoMoreThanAllowed) {
  const Case& c = GetParam();
  Work work;
  work.items = items(c.buffers);
  BufferSet buffers(work, c.buffers, kBurst, 0);
  ShufflingLane lane(c.behaviour);
  LaneStepper stepper(lane, buffers, c.most_bursts);
  std::uint64_t operations = 0;
  constexpr std::uint64_t kSteps = 40;
  const std::uint64_t ring = buffers.bursts().size();
  for (std::uint64_t i = 0; i < kSteps; ++i) operations += stepper.step(ring);
  operations += stepper.finish();
  stepper.require_progress();
  EXPECT_EQ(operations, kSteps * ring * kBurst);
  EXPECT_EQ(stepper.take_touched(), kSteps * ring);
  EXPECT_EQ(std::set(lane.settled.begin(), lane.settled.end()).size(), ring) << "each, before its output is read";
  EXPECT_EQ(lane.settled.size(), ring) << "and once, however often it was run";
  EXPECT_EQ(stepper.take_touched(), 0U);
  EXPECT_EQ(stepper.next(), 0U);
  EXPECT_EQ(lane.peak, c.peak);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(buffers.output(i).bytes, work.items[buffers.item_of(i)].in);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Drives,
                         testing::Values(Case{"OneAtATime", 64, 1, {}, 1}, Case{"Several", 64, 5, {1000, 5}, 5},
                                         Case{"NoMoreThanTheRingHolds", 16, 100, {1000, 100}, 4},
                                         Case{"ALaneThatRefuses", 64, 8, {3, 3}, 3},
                                         Case{"AllOfALargeRing", 1024, 256, {1000, 256}, 256}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Buffers, InputsOfOneSizeAreARing) {
  Work work;
  work.items = items(16);
  BufferSet buffers(work, 16, kBurst, 0);
  const auto ring = buffers.input_ring();
  ASSERT_TRUE(ring);
  EXPECT_EQ(ring->count, buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(buffers.bursts()[i / kBurst].in[i % kBurst], ring->first + i * ring->stride_bytes);
  }
  work.items[3].in.resize(work.items[3].in.size() + 64);
  EXPECT_FALSE(BufferSet(work, 16, kBurst, 0).input_ring());
}

TEST(Buffers, HoldSomeItemsInTheSameMemory) {
  Work work;
  work.items = items(16);
  work.items[12].in.resize(work.items[12].in.size() + 640);  // of the second half, which needs more room than all 16
  const BufferSet::Items first{0, 8};
  const BufferSet::Items other{8, 8};
  BufferSet buffers(work, 32, kBurst, 3, std::array{first, other});
  const std::byte* const memory = buffers.memory().data();
  const std::byte* const input = buffers.bursts()[0].in[0];
  for (const BufferSet::Items held : {first, other, BufferSet::Items{0, 16}}) {
    buffers.hold(held);
    EXPECT_EQ(buffers.memory().data(), memory);
    EXPECT_EQ(buffers.bursts()[0].in[0], input);
    EXPECT_EQ(buffers.size(), 32U);
    EXPECT_EQ(buffers.cycle(), held.count / kBurst);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Burst& b = buffers.bursts()[i / kBurst];
      const std::vector<std::byte>& want = work.items[held.first + i % held.count].in;
      EXPECT_EQ(buffers.item_of(i), held.first + i % held.count);
      EXPECT_TRUE(std::equal(want.begin(), want.end(), b.in[i % kBurst], b.in[i % kBurst] + b.in_len[i % kBurst])) << i;
      EXPECT_EQ(b.status[i % kBurst], kStatusPoison);
    }
    buffers.check_inputs();
  }
  test::expect_error([&] { buffers.hold({0, 12}); }, {"not a whole number of cycles"});
  work.items[0].in.resize(1U << 20);
  test::expect_error([&] { buffers.hold(first); }, {"do not fit"});
}

TEST(Driver, SynchronousLanesHaveOneBurstUnderWay) {
  Work work;
  work.items = items(16);
  BufferSet buffers(work, 16, kBurst, 0);
  std::size_t bursts = 0;
  struct Kernel {
    std::size_t* bursts;
    void operator()(Burst& b) noexcept {
      ++*bursts;
      b.result[0] = 0;
    }
  };
  SyncLane<Kernel> lane(Kernel{&bursts});
  LaneStepper stepper(lane, buffers, 100);
  EXPECT_EQ(stepper.step(3), 3U * kBurst);
  EXPECT_EQ(stepper.finish(), 0U);
  EXPECT_EQ(bursts, 3U);
}

TEST(Driver, AStepDoesNotWaitForTheQueueToEmpty) {
  Work work;
  work.items = items(64);
  BufferSet buffers(work, 64, kBurst, 0);
  ShufflingLane lane({1000, 8});
  LaneStepper stepper(lane, buffers, 8);
  const std::uint64_t first = stepper.step(16);
  EXPECT_LT(first, 16U * kBurst);
  EXPECT_EQ(first + stepper.finish(), 16U * kBurst);
}

TEST(Driver, ALostBurstEndsTheWait) {
  Work work;
  work.items = items(64);
  BufferSet buffers(work, 64, kBurst, 0);
  ShufflingLane lane({1000, 0, 20});
  LaneStepper stepper(lane, buffers, 4);
  std::uint64_t operations = stepper.step(30);
  operations += stepper.finish();
  EXPECT_LT(operations, 30U * kBurst);
  test::expect_error([&] { stepper.require_progress(); }, {"1 are still in flight: the device lost them, or hangs"});
  EXPECT_EQ(stepper.step(1000), 0U) << "nothing more is submitted";
}

TEST(Driver, ALaneThatTakesNothingEndsTheWait) {
  Work work;
  work.items = items(64);
  BufferSet buffers(work, 64, kBurst, 0);
  ShufflingLane lane({.refuses_everything = true});
  LaneStepper stepper(lane, buffers, 4);
  EXPECT_EQ(stepper.step(1), 0U);
  test::expect_error([&] { stepper.require_progress(); }, {"no burst was accepted or completed"});
}

}  // namespace
}  // namespace dpubench
