// Tests of the engines over compressdev: both directions with any number of jobs in flight, several threads, messages longer than
// an mbuf, streams that end early, and named devices.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "inputs/random.hpp"
#include "operators/devices.hpp"
#include "operators/support/codecs/deflate_format.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/support/testing/device_test.hpp"
#include "operators/verify.hpp"

namespace dpubench {
namespace {

using nlohmann::json;
using Bytes = std::vector<std::byte>;

/// Return the engines with a driver in software that can run here; empty in a build without DPDK.
std::vector<const Engine*> software_engines() {
  return device_test::software_engines("deflate", "compressdev-");
}

#define NEEDS_ENGINES(engines) \
  if ((engines).empty()) GTEST_SKIP() << "no compressdev engine can run here"

/// Return lines that differ in numbers, as logs do; `noise` percent of the bytes are random.
Bytes text(std::size_t size, unsigned noise, inputs::Random& random) {
  Bytes bytes;
  while (bytes.size() < size) {
    for (const char c : "line " + std::to_string(random.below(100'000)) + " of the message; ")
      bytes.push_back(random.below(100) < noise ? static_cast<std::byte>(random.below(256)) : static_cast<std::byte>(c));
  }
  bytes.resize(size);
  return bytes;
}

/// Return a work that decompresses streams of deflate::Compressor.
std::unique_ptr<Work> unpack_work(const std::vector<Bytes>& plain) {
  auto work = std::make_unique<Work>();
  std::size_t size = 1;
  for (const Bytes& message : plain) {
    Bytes packed(deflate::bound(message.size()));
    packed.resize(deflate::Compressor().compress(message, packed, {}));
    work->items.push_back({std::move(packed), {}, static_cast<std::uint32_t>(message.size())});
    size = std::max(size, message.size());
  }
  work->params = find_operator("deflate")->complete({{"direction", "decompress"}, {"size", std::to_string(size)}});
  return work;
}

TEST(Compressdev, AnyNumberOfJobsInFlight) {
  const auto engines = software_engines();
  NEEDS_ENGINES(engines);
  for (const char* direction : {"compress", "decompress"}) {
    for (const std::uint32_t burst : {1U, 32U}) {
      json points = json::array();
      for (const Engine* engine : engines) {
        for (const std::uint32_t jobs : {32U, 1024U}) {
          points.push_back(
              {{"id", engine->info().name + "~" + std::to_string(jobs)}, {"engine", engine->info().name}, {"in_flight", jobs}});
        }
      }
      const json params = {{"direction", direction}, {"size", "300"}, {"level", direction[0] == 'c' ? "fast" : "default"}};
      for (const int threads : {1, 3}) {
        const auto events = device_test::run("deflate", params, points, {{"burst", burst}, {"threads", threads}});
        for (const json& failure : device_test::of(events, "failure")) ADD_FAILURE() << failure;
        EXPECT_EQ(device_test::of(events, "window").size(), 2 * points.size());
        for (const json& prepared : device_test::of(events, "prepared")) {
          const json& path = prepared["path"];
          EXPECT_EQ(path["is_hardware"], false);
          EXPECT_TRUE(path["device"].get<std::string>().starts_with(path["driver"].get<std::string>())) << path;
        }
      }
    }
  }
}

// The threads outnumber the queue pairs of the driver's first device, so the driver gets several devices.
TEST(Compressdev, ManyThreads) {
  const auto engines = software_engines();
  NEEDS_ENGINES(engines);
  const json points = json::array({{{"id", "p"}, {"engine", engines.back()->info().name}}});
  const auto events = device_test::run("deflate", {{"size", "64"}, {"level", "fast"}}, points, {{"threads", 9}});
  for (const json& failure : device_test::of(events, "failure")) ADD_FAILURE() << failure;
  EXPECT_EQ(device_test::of(events, "window").size(), 2U);
}

// An mbuf holds 65535 bytes. The engine compresses every size that it accepts, and gives a reason for every size that it refuses.
TEST(Compressdev, MessagesOfMoreThanAnMbuf) {
  const auto engines = software_engines();
  NEEDS_ENGINES(engines);
  const Operator* op = find_operator("deflate");
  inputs::Random random(3);
  for (const Engine* engine : engines) {
    for (const std::size_t size : {65'000U, 65'001U, 65'535U, 65'536U, 131'070U, 131'072U, 200'000U, 1'048'576U}) {
      for (const unsigned noise : {0U, 20U, 100U}) {
        Work work;
        work.params = op->complete({{"size", std::to_string(size)}, {"level", "fast"}});
        const std::string reason = engine->unsupported(work.params);
        if (engine->info().name == "compressdev-zlib" && size > 65'000) {
          EXPECT_NE(reason.find("no chains of mbufs"), std::string::npos) << reason;
          continue;
        }
        ASSERT_EQ(reason, "");
        for (int i = 0; i < 3; ++i)
          work.items.push_back({text(size, noise, random), {}, static_cast<std::uint32_t>(size + size / 8 + size / 64 + 64)});
        const auto outputs = run_once(work, *engine->prepare(work), 2);
        deflate::Decompressor decoder;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          ASSERT_EQ(outputs[i].status, kStatusOk) << engine->info().name << ' ' << size << ' ' << noise;
          Bytes back(size);
          EXPECT_EQ(decoder.decompress(outputs[i].bytes, back), size);
          EXPECT_EQ(back, work.items[i].in);
        }
      }
    }
    const Params unpack = op->complete({{"direction", "decompress"}, {"size", "65536"}});
    EXPECT_NE(engine->unsupported(unpack).find("65535 B"), std::string::npos) << engine->unsupported(unpack);
  }
}

// Drivers in software report success for the output of a stream up to its early end. The engine has to detect this.
TEST(Compressdev, StreamsThatEndEarlyAreRejectedWhereverTheyEnd) {
  const auto engines = software_engines();
  NEEDS_ENGINES(engines);
  inputs::Random random(4);
  for (const unsigned noise : {0U, 10U, 100U}) {  // the last noise gives stored blocks, in which any byte is data
    const auto whole = unpack_work({text(400, noise, random)});
    auto work = unpack_work({text(400, noise, random)});
    work->items.clear();
    for (std::size_t length = 0; length <= whole->items[0].in.size(); ++length) {
      for (const std::uint32_t room : {400U, 500U}) {
        work->items.push_back(whole->items[0]);
        work->items.back().in.resize(length);
        work->items.back().out_room = room;
      }
    }
    for (const Engine* engine : engines) {
      const auto outputs = run_once(*work, *engine->prepare(*work), 32);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const bool complete = i + 2 >= outputs.size();
        ASSERT_EQ(outputs[i].status, complete ? kStatusOk : kStatusRejected) << engine->info().name << ' ' << i / 2 << " bytes";
        EXPECT_EQ(outputs[i].bytes.size(), complete ? 400U : 0U);
      }
    }
  }
}

TEST(Compressdev, DamagedStreamsNeverLeaveTheirRoom) {
  const auto engines = software_engines();
  NEEDS_ENGINES(engines);
  inputs::Random random(5);
  auto work = unpack_work({text(3000, 2, random)});
  const Item item = work->items[0];
  for (int i = 0; i < 500; ++i) {
    work->items.push_back(item);
    work->items.back().in[random.below(item.in.size())] ^= static_cast<std::byte>(1U << random.below(8));
  }
  for (const Engine* engine : engines) {
    const auto outputs = run_once(*work, *engine->prepare(*work), 32);  // throws if a guard byte changed
    EXPECT_GT(std::count_if(outputs.begin(), outputs.end(), [](const Output& o) { return o.status == kStatusRejected; }), 100)
        << engine->info().name;
    EXPECT_EQ(outputs[0].status, kStatusOk);
  }
}

TEST(Compressdev, LevelsAreThoseOfTheApiAndOfTheDriversLibrary) {
  const auto engines = software_engines();
  NEEDS_ENGINES(engines);
  const Operator* op = find_operator("deflate");
  const auto why = [&](const Engine& engine, const std::string& level) {
    return engine.unsupported(op->complete({{"level", level}}));
  };
  for (const Engine* engine : engines) {
    for (const char* level : {"fast", "default", "best", "compressdev-1", "compressdev-9"}) EXPECT_EQ(why(*engine, level), "");
    const bool is_isal = engine->info().name == "compressdev-isal";
    EXPECT_EQ(why(*engine, "isal-3").empty(), is_isal);
    EXPECT_EQ(why(*engine, "zlib-6").empty(), !is_isal);
    EXPECT_NE(why(*engine, "libdeflate-6"), "");
    EXPECT_NE(why(*engine, "isal-0").find(is_isal ? "levels begin at 1" : "another library"), std::string::npos);
    EXPECT_NE(engine->unsupported(op->complete({{"stream", "reused"}})).find("stateless"), std::string::npos);
  }
}

class NamedCompressdev : public testing::Test {
 protected:
  void SetUp() override {
    const EngineSlot* const slot = test::engines().find("deflate", "compressdev");
    if (slot == nullptr || slot->engine == nullptr) GTEST_SKIP() << "this build has no DPDK";
    if (software_engines().empty()) GTEST_SKIP() << "no driver is here";
    engine_ = slot->engine;
  }
  void TearDown() override { name_devices({}); }
  const Engine* engine_ = nullptr;
};

TEST_F(NamedCompressdev, DoesWhatItCanAndSaysWhatItCannot) {
  name_devices({"compress_zlib7"});
  ASSERT_EQ(engine_->unavailable(), "");
  const Operator* op = find_operator("deflate");
  EXPECT_EQ(engine_->unsupported(op->complete({})), "");
  EXPECT_NE(engine_->unsupported(op->complete({{"level", "zlib-3"}})).find("another library"), std::string::npos);
  inputs::Random random(6);
  const auto work = unpack_work({text(1000, 5, random), text(900, 5, random)});
  const auto session = engine_->prepare(*work);
  EXPECT_EQ(session->path().driver, "compress_zlib");
  EXPECT_EQ(session->path().device, "compress_zlib7");
  EXPECT_FALSE(session->path().is_hardware);
  for (const Output& output : run_once(*work, *session, 2)) EXPECT_EQ(output.status, kStatusOk);
}

TEST_F(NamedCompressdev, SaysWhatIsWrongWithTheName) {
  EXPECT_NE(engine_->unavailable().find("give --device"), std::string::npos) << engine_->unavailable();
  name_devices({"compress_nonesuch0"});
  EXPECT_NE(engine_->unavailable().find("no DPDK driver here makes a virtual device of this name"), std::string::npos)
      << engine_->unavailable();
  name_devices({"dma_skeleton1"});
  EXPECT_NE(engine_->unavailable().find("is a compression device"), std::string::npos) << engine_->unavailable();
}

}  // namespace
}  // namespace dpubench
