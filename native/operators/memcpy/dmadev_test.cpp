// Tests of the engines over dmadev: copies with any number of jobs in flight, several threads, and named devices.

#include <gtest/gtest.h>

#include <string>

#include "operators/buffers.hpp"
#include "operators/devices.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/support/testing/device_test.hpp"
#include "operators/verify.hpp"

namespace dpubench {
namespace {

using nlohmann::json;

const Engine* skeleton() {
  const auto engines = device_test::software_engines("memcpy", "dmadev-skeleton");
  return engines.empty() ? nullptr : engines.front();
}

TEST(Dmadev, AnyNumberOfJobsInFlight) {
  if (skeleton() == nullptr) GTEST_SKIP() << "the skeleton driver is not here";
  for (const std::uint32_t burst : {1U, 32U, 256U}) {
    json points = json::array();
    for (const std::uint32_t jobs : {1U, 32U, 100U, 1024U, 4096U}) {
      if (jobs < burst) continue;
      points.push_back({{"id", std::to_string(jobs)}, {"engine", "dmadev-skeleton"}, {"in_flight", jobs}});
    }
    for (const int threads : {1, 3}) {
      const auto events = device_test::run("memcpy", {{"size", "1000"}}, points, {{"burst", burst}, {"threads", threads}});
      for (const json& failure : device_test::of(events, "failure")) ADD_FAILURE() << burst << ": " << failure;
      EXPECT_EQ(device_test::of(events, "window").size(), 2 * points.size());
      for (const json& prepared : device_test::of(events, "prepared")) {
        const std::uint32_t asked = static_cast<std::uint32_t>(std::stoul(prepared["point"].get<std::string>()));
        EXPECT_EQ(prepared["path"]["in_flight"], std::min(asked, 2047U) / burst * burst) << prepared;
        EXPECT_NE(prepared["path"]["detail"].get<std::string>().find("a thread of the driver copies"), std::string::npos);
      }
    }
  }
}

// Lanes of two sessions share a device and take turns.
TEST(Dmadev, ADeviceServesOneLaneAtATime) {
  if (skeleton() == nullptr) GTEST_SKIP() << "the skeleton driver is not here";
  inputs::Store store({}, 1);
  const Operator* op = find_operator("memcpy");
  const auto work = op->prepare(op->complete({{"size", "64"}}), store, {8});
  BufferSet buffers(*work, 8, 4, 0);
  const auto first = skeleton()->prepare(*work);
  const auto second = skeleton()->prepare(*work);
  const auto a = first->open();
  const auto b = second->open();
  ASSERT_TRUE(a->submit(buffers.bursts()[0]));
  EXPECT_FALSE(b->submit(buffers.bursts()[1])) << "the other lane has copies in flight";
  Burst* done[1];
  while (a->poll(done) == 0) {
  }
  EXPECT_EQ(done[0], &buffers.bursts()[0]);
  EXPECT_TRUE(b->submit(buffers.bursts()[1]));
  while (b->poll(done) == 0) {
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) EXPECT_EQ(buffers.output(i).bytes, work->items[i].in);
}

class NamedDmadev : public testing::Test {
 protected:
  void SetUp() override {
    const EngineSlot* const slot = test::engines().find("memcpy", "dmadev");
    if (slot == nullptr || slot->engine == nullptr) GTEST_SKIP() << "this build has no DPDK";
    if (skeleton() == nullptr) GTEST_SKIP() << "no driver is here";
    engine_ = slot->engine;
  }
  void TearDown() override { name_devices({}); }
  const Engine* engine_ = nullptr;
};

TEST_F(NamedDmadev, EachThreadNeedsAChannel) {
  name_devices({"dma_skeleton7", "dma_skeleton8"});
  ASSERT_EQ(engine_->unavailable(), "");
  inputs::Store store({}, 1);
  const Operator* op = find_operator("memcpy");
  const auto work = op->prepare(op->complete({{"size", "1000"}}), store, {40});
  const auto session = engine_->prepare(*work);
  EXPECT_EQ(session->path().driver, "dma_skeleton");
  EXPECT_EQ(session->path().device, "dma_skeleton7");
  EXPECT_FALSE(session->path().is_hardware);
  const auto outputs = run_once(*work, *session, 7);
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i].bytes, work->items[i].in);
  const auto one = session->open();
  const auto two = session->open();
  try {
    static_cast<void>(session->open());
    ADD_FAILURE() << "there are two devices of one channel each";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("2 virtual DMA channels: use no more threads"), std::string::npos) << error.what();
  }
}

TEST_F(NamedDmadev, SaysWhatIsWrongWithTheName) {
  EXPECT_NE(engine_->unavailable().find("give --device"), std::string::npos) << engine_->unavailable();
  name_devices({"dma_nonesuch0"});
  EXPECT_NE(engine_->unavailable().find("no DPDK driver here makes a virtual device of this name"), std::string::npos)
      << engine_->unavailable();
  name_devices({"compress_zlib9"});
  EXPECT_NE(engine_->unavailable().find("is a DMA device"), std::string::npos) << engine_->unavailable();
}

TEST(Regexdev, SaysWhyItCannotRun) {
  const EngineSlot* const slot = test::engines().find("regex", "regexdev");
  if (slot == nullptr || slot->engine == nullptr) GTEST_SKIP() << "this build has no DPDK, or no regex";
  EXPECT_NE(slot->reason.find("no driver of this class in software"), std::string::npos) << slot->reason;
  if (skeleton() == nullptr) GTEST_SKIP() << "no driver is here";
  name_devices({"dma_skeleton9"});
  EXPECT_EQ(slot->engine->unavailable(), "none of the devices named with --device is a regular-expression device of DPDK");
  EXPECT_EQ(slot->engine->unsupported(find_operator("regex")->complete({})), slot->engine->unavailable());
  name_devices({});
}

}  // namespace
}  // namespace dpubench
