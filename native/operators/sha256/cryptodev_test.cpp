// Tests of the cryptodev engines of every operator: known answers and agreement with any number of jobs in flight, several
// threads, and named devices.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operators/devices.hpp"
#include "operators/driver.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/support/testing/device_test.hpp"
#include "operators/verify.hpp"

namespace dpubench {
namespace {

using device_test::of;
using device_test::run;
using nlohmann::json;

struct Found {
  const Operator* op;
  const Engine* engine;
};

/// Return the engines over cryptodev with a driver in software; empty in a build without DPDK.
std::vector<Found> software_engines() {
  std::vector<Found> found;
  for (const Operator* op : operators()) {
    for (const EngineSlot* slot : test::engines().of(*op)) {
      if (slot->name.starts_with("cryptodev-") && slot->reason.empty()) found.push_back({op, slot->engine});
    }
  }
  return found;
}

#define NEEDS_ENGINES(engines) \
  if ((engines).empty()) GTEST_SKIP() << "no cryptodev engine can run here"

json params_of(const Params& params) {
  json all = json::object();
  for (const auto& [name, value] : params.all()) all[name] = value;
  return all;
}

// A driver does everything that its engine claims: known answers, real input, and a window, in every mode.
TEST(Cryptodev, EveryModeIsVerifiedAndMeasured) {
  const auto engines = software_engines();
  NEEDS_ENGINES(engines);
  for (const auto& [op, engine] : engines) {
    for (const Params& params : op->configurations()) {
      if (!engine->unsupported(params).empty()) continue;
      const json points = json::array({{{"id", "p"}, {"engine", engine->info().name}}});
      const auto events = run(op->info().name, params_of(params), points, json::object());
      const std::string what = op->info().name + " " + params.str() + " " + engine->info().name;
      for (const json& failure : of(events, "failure")) ADD_FAILURE() << what << ": " << failure["message"];
      ASSERT_EQ(of(events, "verified").size(), 1U) << what;
      // RSA's known answers are verifications, which crypto_openssl cannot do. Its signatures have one right value, and they are
      // compared on real input.
      EXPECT_GE(of(events, "verified")[0]["known_answers"].get<int>(), op->info().name == "rsa" ? 0 : 1) << what;
      EXPECT_GE(of(events, "verified")[0]["compared"].get<int>(), 1) << what;
      EXPECT_EQ(of(events, "window").size(), 2U) << what;
      const json path = of(events, "prepared")[0]["path"];
      EXPECT_EQ(path["is_hardware"], false);
      EXPECT_TRUE(path["device"].get<std::string>().starts_with(path["driver"].get<std::string>())) << path;
    }
  }
}

TEST(Cryptodev, AnyNumberOfJobsInFlight) {
  const auto engines = software_engines();
  NEEDS_ENGINES(engines);
  const bool all = std::any_of(engines.begin(), engines.end(), [](const Found& f) { return f.op->info().name == "aes"; });
  const std::string op = all ? "aes" : engines.front().op->info().name;
  const json params = all ? json{{"mode", "gcm"}, {"size", "100"}} : json{{"size", "100"}};
  for (const std::uint32_t burst : {1U, 32U, 64U}) {
    json points = json::array();
    std::vector<std::uint32_t> effective;
    for (const auto& [other, engine] : engines) {
      if (other->info().name != op) continue;
      for (const std::uint32_t jobs : {1U, 32U, 100U, 1024U, 4096U}) {
        if (jobs < burst) continue;
        points.push_back(
            {{"id", engine->info().name + "~" + std::to_string(jobs)}, {"engine", engine->info().name}, {"in_flight", jobs}});
        effective.push_back(std::min(jobs, 2047U) / burst * burst);  // a queue of 2048 descriptors holds one job less
      }
    }
    for (const int threads : {1, 3}) {
      const auto events = run(op, params, points, {{"burst", burst}, {"threads", threads}, {"footprint", "resident"}});
      for (const json& failure : of(events, "failure")) ADD_FAILURE() << burst << ": " << failure;
      EXPECT_EQ(of(events, "window").size(), 2 * points.size());
      const auto prepared = of(events, "prepared");
      ASSERT_EQ(prepared.size(), points.size());
      for (std::size_t i = 0; i < prepared.size(); ++i) EXPECT_EQ(prepared[i]["path"]["in_flight"], effective[i]) << prepared[i];
    }
  }
}

// The threads outnumber the queue pairs of a device, so the software driver gets several devices.
TEST(Cryptodev, MoreThreadsThanQueuePairs) {
  const auto engines = software_engines();
  NEEDS_ENGINES(engines);
  const json points = json::array({{{"id", "p"}, {"engine", engines.front().engine->info().name}}});
  const auto events = run(engines.front().op->info().name, {{"size", "64"}}, points, {{"threads", 20}});
  for (const json& failure : of(events, "failure")) ADD_FAILURE() << failure;
  EXPECT_EQ(of(events, "window").size(), 2U);
}

// Lanes of two sessions that share a queue pair take turns.
TEST(Cryptodev, AQueuePairServesOneLaneAtATime) {
  const Operator* op = find_operator("sha256");
  const auto engines = software_engines();
  NEEDS_ENGINES(engines);
  const auto found = std::find_if(engines.begin(), engines.end(), [&](const Found& f) { return f.op == op; });
  if (found == engines.end()) GTEST_SKIP() << "no cryptodev engine of sha256 can run here";
  inputs::Store store({}, 1);
  const auto work = op->prepare({{"size", "64"}}, store, {8});
  BufferSet buffers(*work, 8, 4, 0);
  const auto first = found->engine->prepare(*work);
  const auto second = found->engine->prepare(*work);
  const auto a = first->open();
  const auto b = second->open();
  ASSERT_TRUE(a->submit(buffers.bursts()[0]));
  EXPECT_FALSE(b->submit(buffers.bursts()[1])) << "the other lane has jobs in flight";
  Burst* done[1];
  while (a->poll(done) == 0) {
  }
  EXPECT_TRUE(b->submit(buffers.bursts()[1]));
  EXPECT_FALSE(a->submit(buffers.bursts()[0]));
  while (b->poll(done) == 0) {
  }
  EXPECT_EQ(done[0], &buffers.bursts()[1]);
  EXPECT_NO_THROW(static_cast<void>(buffers.output(4)));
}

class NamedDevice : public testing::Test {
 protected:
  void SetUp() override {
    const EngineSlot* const slot = test::engines().find("sha256", "cryptodev");
    if (slot == nullptr || slot->engine == nullptr) GTEST_SKIP() << "this build has no DPDK";
    if (software_engines().empty()) GTEST_SKIP() << "no driver is here";
    engine_ = slot->engine;
  }
  void TearDown() override { name_devices({}); }

  const Engine* engine_ = nullptr;
};

TEST_F(NamedDevice, DoesWhatItCanAndSaysWhatItCannot) {
  name_devices({"crypto_openssl7,max_nb_queue_pairs=1"});
  ASSERT_EQ(engine_->unavailable(), "");
  const Operator* op = find_operator("sha256");
  EXPECT_EQ(engine_->unsupported(op->complete({})), "");
  inputs::Store store({}, 1);
  const auto work = op->prepare({{"size", "1000"}}, store, {40});
  const auto session = engine_->prepare(*work);
  EXPECT_EQ(session->path().driver, "crypto_openssl");
  EXPECT_EQ(session->path().device, "crypto_openssl7");
  EXPECT_FALSE(session->path().is_hardware);
  const auto want = run_once(*work, *test::engines().find("sha256", "portable")->engine->prepare(*work), 1);
  const auto got = run_once(*work, *session, 7);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(op->check(*work, i, got[i], &want[i]), "");
  const auto lane = session->open();
  try {
    static_cast<void>(session->open());
    ADD_FAILURE() << "the device has one queue pair";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("crypto_openssl7 has 1 queue pairs: use no more threads"), std::string::npos)
        << error.what();
  }
  const EngineSlot* const aes = test::engines().find("aes", "cryptodev");
  if (aes == nullptr || aes->engine == nullptr) return;  // this build has only some operators
  const Params xts = find_operator("aes")->complete({{"mode", "xts"}});
  EXPECT_EQ(aes->engine->unsupported(xts), "crypto_openssl does not have this algorithm");
  const Params long_gcm = find_operator("aes")->complete({{"mode", "gcm"}, {"size", "65536"}});
  EXPECT_NE(aes->engine->unsupported(long_gcm).find("at most 65535 bytes"), std::string::npos);
}

TEST_F(NamedDevice, SaysWhatIsWrongWithTheName) {
  EXPECT_NE(engine_->unavailable().find("give --device"), std::string::npos) << engine_->unavailable();
  name_devices({"crypto_nonesuch0"});
  EXPECT_NE(engine_->unavailable().find("no DPDK driver here makes a virtual device of this name"), std::string::npos)
      << engine_->unavailable();
  name_devices({"dma_skeleton"});
  EXPECT_NE(engine_->unavailable().find("is not a crypto device"), std::string::npos) << engine_->unavailable();
}

}  // namespace
}  // namespace dpubench
