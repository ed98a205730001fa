#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <thread>

#include "datapath/frame/trailer.hpp"
#include "datapath/server/serve.hpp"
#include "datapath/test_memory.hpp"
#include "measure/team.hpp"
#include "native/expect_error.hpp"
#include "native/temporary_directory.hpp"

namespace dpubench::datapath {
namespace {

using nlohmann::json;
using test::expect_error;
using test::TemporaryDirectory;

constexpr auto kPatience = std::chrono::seconds(20);

/// The scripted stage's decision on a packet with a trailer. Other packets are forwarded.
using Decide = std::function<Fate(std::uint64_t number)>;
Decide decide;

/// A stage that keeps packets of fate kHeld until the next batch and then sends them back.
class ScriptedStage final : public Stage {
 public:
  std::uint32_t run(Batch& batch) noexcept override {
    const std::uint32_t received = batch.n;
    std::deque<rte_mbuf*> held;
    held.swap(held_);
    for (std::uint32_t i = 0; i < received; ++i) {
      if (batch.fate[i] != Fate::kForward) continue;
      const auto trailer = read_trailer(batch.frame(i));
      if (trailer) batch.fate[i] = decide(trailer->number);
      if (batch.fate[i] == Fate::kHeld) held_.push_back(batch.packets[i]);
    }
    for (rte_mbuf* packet : held) {
      batch.packets[batch.n] = packet;
      batch.fate[batch.n++] = Fate::kForward;
    }
    return received;
  }
  void collect(json& into, const std::string&) override { into["collected"] = into.value("collected", 0) + 1; }

 private:
  std::deque<rte_mbuf*> held_;
};

class ScriptedPipeline final : public Pipeline {
 public:
  [[nodiscard]] std::vector<StageReport> report() const override {
    return {{.name = "script", .engine = "portable", .path = {}, .verified = "not at all"}};
  }
  [[nodiscard]] std::vector<std::unique_ptr<Stage>> open(std::uint32_t) override {
    std::vector<std::unique_ptr<Stage>> stages;
    stages.push_back(std::make_unique<ScriptedStage>());
    return stages;
  }
};

class Scripted final : public Workload {
 public:
  [[nodiscard]] const WorkloadInfo& info() const override {
    static const WorkloadInfo kInfo = {
        .name = "test-script",
        .summary = "decides as a test says",
        .definition = "",
        .parameters = {{.name = "mode", .summary = "", .values = {"a", "b"}, .default_value = "a", .is_mode = true, .unit = ""}},
        .stages = {{.name = "script",
                    .summary = "",
                    .op = "",
                    .engines = {{"portable", "", ""}, {"absent", "", "there is no such device"}},
                    .default_engine = "portable"}},
        .inputs = {},
        .sources = {}};
    return kInfo;
  }
  [[nodiscard]] std::unique_ptr<Pipeline> open(const Setting&, inputs::Store&, const EngineCatalog&) const override {
    return std::make_unique<ScriptedPipeline>();
  }
  [[nodiscard]] std::unique_ptr<Expectation> expect(const Params&, inputs::Store&, const EngineCatalog&,
                                                    std::span<const FrameTemplate>) const override {
    return nullptr;
  }
};

DPUBENCH_WORKLOAD(Scripted);

/// A server and the client's side of its ports, in one process.
class ServerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    test::start_memory();
    if (pool_ == nullptr) pool_ = make_pool("server-test", 4096, 1518);
  }

  /// Open a server over rings, and the client's side of each port.
  void open(const std::string& workload, std::size_t ports = 1, std::size_t cores = 1, const std::string& ring = "1024") {
    ServerJob job;
    static int serial = 0;
    for (std::size_t i = 0; i < ports; ++i) {
      PortSpec spec{"ring", Role::kServer, {{"name", "server-test" + std::to_string(serial++)}, {"ring", ring}}};
      job.ports.push_back(spec);
    }
    job.cpus.assign(cores, measure::allowed_cpus().front());
    job.workload.name = workload;
    job.memory.mb = 8;  // share of the EAL's memory: each test makes a pool
    job.sample_every = 2;
    server_ = std::make_unique<ServerSession>(job, engines_);
    for (PortSpec spec : job.ports) {
      spec.role = Role::kClient;
      client_.push_back(open_port(spec, {pool_, static_cast<std::uint16_t>(cores), 1518}));
    }
  }

  static std::vector<std::byte> frame(std::uint32_t trial, std::uint64_t number, std::size_t bytes = 60) {
    std::vector<std::byte> frame(bytes);
    for (std::size_t i = 0; i < bytes; ++i) frame[i] = static_cast<std::byte>(i + number);
    write_trailer(frame, {.trial = static_cast<std::uint16_t>(trial), .number = number, .due_ns = 0, .frame = 0});
    return frame;
  }
  static rte_mbuf* packet(std::span<const std::byte> frame) {
    rte_mbuf* const packet = rte_pktmbuf_alloc(pool_);
    std::memcpy(rte_pktmbuf_append(packet, static_cast<std::uint16_t>(frame.size())), frame.data(), frame.size());
    return packet;
  }
  void send(rte_mbuf* packet, std::uint16_t queue = 0, std::size_t port = 0) { send_burst({packet}, queue, port); }
  /// Send packets as one burst. It is one burst for the server too: rings hand over whole bursts.
  void send_burst(std::vector<rte_mbuf*> packets, std::uint16_t queue = 0, std::size_t port = 0) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    const auto n = static_cast<std::uint16_t>(packets.size());
    for (std::uint16_t sent = 0; sent < n;) {
      ASSERT_LT(std::chrono::steady_clock::now(), until);
      const std::uint16_t taken = client_[port]->transmit(queue, packets.data() + sent, static_cast<std::uint16_t>(n - sent));
      sent = static_cast<std::uint16_t>(sent + taken);
      if (taken == 0) std::this_thread::yield();
    }
  }
  /// Return the frames that come back, at least `n`.
  std::vector<std::vector<std::byte>> receive(std::size_t n, std::size_t port = 0, std::uint16_t queues = 1) {
    std::vector<std::vector<std::byte>> frames;
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (frames.size() < n && std::chrono::steady_clock::now() < until) {
      for (std::uint16_t queue = 0; queue < queues; ++queue) {
        rte_mbuf* packets[32];
        const std::uint16_t taken = client_[port]->receive(queue, packets, 32);
        for (std::uint16_t i = 0; i < taken; ++i) {
          auto& frame = frames.emplace_back(packets[i]->pkt_len);
          const void* const data = rte_pktmbuf_read(packets[i], 0, packets[i]->pkt_len, frame.data());
          if (data != frame.data()) std::memcpy(frame.data(), data, frame.size());
          rte_pktmbuf_free(packets[i]);
        }
      }
      std::this_thread::yield();
    }
    EXPECT_EQ(frames.size(), n);
    return frames;
  }
  /// Wait so that the server takes everything that was sent (rings hand over whole bursts), and then collect the trial.
  json collect(std::uint32_t trial, const std::string& dump = {}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return server_->collect(trial, dump);
  }
  static std::vector<std::byte> swapped(std::vector<std::byte> frame) {
    std::rotate(frame.begin(), frame.begin() + 6, frame.begin() + 12);
    return frame;
  }
  template <class T>
  static std::vector<T> read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    EXPECT_TRUE(in.is_open()) << path;
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  static std::set<std::uint64_t> bits(const std::vector<std::uint8_t>& bitmap) {
    std::set<std::uint64_t> set;
    for (std::size_t i = 0; i < bitmap.size() * 8; ++i) {
      if ((bitmap[i / 8] >> (i % 8) & 1) != 0) set.insert(i);
    }
    return set;
  }

  void TearDown() override {
    client_.clear();
    server_.reset();
    EXPECT_EQ(rte_mempool_in_use_count(pool_), 0U) << "packets were lost";
  }

  static inline rte_mempool* pool_ = nullptr;
  EngineCatalog engines_;
  std::unique_ptr<ServerSession> server_;
  std::vector<std::unique_ptr<Port>> client_;
};

TEST_F(ServerTest, NullWorkloadSwapsAddressesAndAccountsForEveryPacket) {
  open("forward");
  server_->begin(7);
  std::vector<std::vector<std::byte>> want;
  const auto give = [&](const std::vector<std::byte>& frame) {
    want.push_back(swapped(frame));
    send(packet(frame));
  };
  for (std::uint64_t i = 0; i < 5; ++i) send(packet(frame(8, i)));  // stale: no stage sees them, and none comes back
  for (std::uint64_t i = 0; i < 100; ++i) give(frame(7, 3 * i, i % 2 == 0 ? 60 : 500));
  for (std::uint64_t i = 0; i < 3; ++i) give(std::vector<std::byte>(64, static_cast<std::byte>(i + 1)));
  give(frame(7, 3));
  const auto replies = receive(104);
  for (const auto& reply : replies) EXPECT_NE(std::find(want.begin(), want.end(), reply), want.end());

  const TemporaryDirectory folder;
  const json served = collect(7, folder.path() / "dump");
  EXPECT_EQ(served["trial"], 7);
  EXPECT_EQ(served["received"], 101);
  EXPECT_EQ(served["transmitted"], 101);
  EXPECT_EQ(served["duplicates"], 1);
  EXPECT_EQ(served["stale"], 5);
  EXPECT_EQ(served["foreign"], 3);
  EXPECT_EQ(served["others"]["received"], 8);
  EXPECT_EQ(served["others"]["transmitted"], 3);
  EXPECT_EQ(served["others"]["dropped"], (json{{"stale", 5}}));
  EXPECT_EQ(served["tx_full"], 0);
  EXPECT_EQ(served["dropped"], json::object());
  EXPECT_EQ(served["stages"]["swap"]["packets"], 104);
  EXPECT_GT(served["stages"]["swap"]["sampled_packets"], 0);
  EXPECT_GT(served["busy_ns"], 0);
  EXPECT_GT(served["idle_ns"], 0);
  EXPECT_GT(served["cpu_ns"], 0);
  std::uint64_t sampled = 0;
  for (const auto& bucket : served["residence_ns"]["buckets"]) sampled += bucket[1].get<std::uint64_t>();
  EXPECT_EQ(sampled, served["loop"]["transmit"]["sampled_packets"]);
  std::set<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 100; ++i) numbers.insert(3 * i);
  EXPECT_EQ(bits(read<std::uint8_t>(folder.path() / "dump/received.bitmap")), numbers);
  EXPECT_TRUE(read<std::uint64_t>(folder.path() / "dump/dropped.u64").empty());
}

TEST_F(ServerTest, TheMeasuredPartIsToldFromTheRestOfATrial) {
  open("forward", 1, 2);
  const Beginning how{.ramp_s = 0.002, .duration_s = 0.02, .receive_work = {static_cast<std::uint32_t>(getpid())}};
  EXPECT_EQ(server_->begin(7, how), (json{{"trial", 7}}));
  for (std::uint64_t i = 0; i < 40; ++i) {
    send(packet(frame(7, i)));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  receive(40, 0, 2);
  const json served = collect(7);
  EXPECT_EQ(served["received"], 40);
  ASSERT_TRUE(served.contains("measured")) << served;
  const json& part = served["measured"];
  EXPECT_EQ(part["cores"], 2);
  const auto ns = [&part](const char* name) { return part[name].get<std::uint64_t>(); };
  EXPECT_NEAR(static_cast<double>(ns("application_ns") + ns("receive_work_ns") + ns("idle_ns")),
              static_cast<double>(ns("core_ns")), 10);
  EXPECT_GT(ns("core_ns"), 0U);
  EXPECT_LT(ns("packets"), 40U);
  // There is no measured part if nobody asks for one, or if no packet comes.
  server_->begin(8);
  send(packet(frame(8, 0)));
  receive(1, 0, 2);
  EXPECT_FALSE(collect(8).contains("measured"));
  server_->begin(9, how);
  EXPECT_FALSE(collect(9).contains("measured"));
  expect_error([&] { server_->begin(10, {.receive_work = {4'194'303}}); }, {"thread 4194303", "leave receive_work out"});
}

TEST_F(ServerTest, ATrialBeginsEmptyAndLatePacketsAreStale) {
  open("forward");
  send(packet(frame(1, 0)));  // before any trial
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server_->begin(1);
  for (std::uint64_t i = 0; i < 10; ++i) send(packet(frame(1, i)));
  receive(10);
  EXPECT_EQ(collect(1)["received"], 10);
  expect_error([&] { server_->collect(1, {}); }, {"trial 1 cannot be collected", "none was begun"});
  server_->begin(2);
  expect_error([&] { server_->collect(1, {}); }, {"trial 2 is under way"});
  send(packet(frame(1, 10)));
  send(packet(frame(2, 0)));
  receive(1);
  const TemporaryDirectory folder;
  const json served = collect(2, folder.path());
  EXPECT_EQ(served["received"], 1);
  EXPECT_EQ(served["stale"], 1);
  EXPECT_EQ(bits(read<std::uint8_t>(folder.path() / "received.bitmap")), (std::set<std::uint64_t>{0}));
}

TEST_F(ServerTest, DropsAreNotedWithTheirReason) {
  decide = [](std::uint64_t number) {
    return number % 4 == 1 ? Fate::kDropFull : number % 4 == 2 ? Fate::kDropPolicy : Fate::kForward;
  };
  open("test-script");
  server_->begin(1);
  for (std::uint64_t i = 0; i < 40; ++i) send(packet(frame(1, i, 100)));
  receive(20);
  const TemporaryDirectory folder;
  const json served = collect(1, folder.path());
  EXPECT_EQ(served["received"], 40);
  EXPECT_EQ(served["transmitted"], 20);
  EXPECT_EQ(served["dropped"], (json{{"full", 10}, {"policy", 10}}));
  EXPECT_EQ(served["workload"]["collected"], 1);
  const auto numbers = read<std::uint64_t>(folder.path() / "dropped.u64");
  const auto reasons = read<std::uint8_t>(folder.path() / "dropped.reason");
  ASSERT_EQ(numbers.size(), 20U);
  ASSERT_EQ(reasons.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(static_cast<Fate>(reasons[i]), decide(numbers[i]));
  EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), 20U);
}

TEST_F(ServerTest, WhatThePortDoesNotTakeIsNoted) {
  open("forward", 1, 1, "64");
  server_->begin(1);
  for (std::uint64_t i = 0; i < 200; ++i) send(packet(frame(1, i)));  // the ring back holds 64, and no one reads it
  const TemporaryDirectory folder;
  const json served = collect(1, folder.path());
  EXPECT_EQ(served["received"], 200);
  EXPECT_EQ(served["transmitted"], 64);
  EXPECT_EQ(served["tx_full"], 136);
  const auto numbers = read<std::uint64_t>(folder.path() / "tx_full.u64");
  ASSERT_EQ(numbers.size(), 136U);
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], 64 + i);
  receive(64);
}

TEST_F(ServerTest, ChainsAreJoinedOrDropped) {
  open("forward");
  server_->begin(1);
  const auto chain = [&](const std::vector<std::byte>& whole, std::size_t cut, std::uint16_t room) {
    rte_mbuf* const first = packet(std::span(whole).first(cut));
    // Leave `room` bytes in the first buffer for the rest.
    const std::uint16_t tail = rte_pktmbuf_tailroom(first);
    if (room < tail) first->buf_len = static_cast<std::uint16_t>(first->buf_len - (tail - room));
    rte_pktmbuf_chain(first, packet(std::span(whole).subspan(cut)));
    return first;
  };
  const auto fits = frame(1, 0, 300);
  const auto fits_not = frame(1, 1, 300);
  rte_mbuf* const tight = chain(fits_not, 290, 5);
  send(chain(fits, 290, 0xffff));
  send(tight);
  EXPECT_EQ(receive(1)[0], swapped(fits));
  const TemporaryDirectory folder;
  const json served = collect(1, folder.path());
  tight->buf_len = rte_pktmbuf_data_room_size(pool_);  // the buffer is back in the pool: restore its length
  EXPECT_EQ(served["received"], 2);
  EXPECT_EQ(served["transmitted"], 1);
  EXPECT_EQ(served["dropped"], (json{{"no_room", 1}}));
  EXPECT_EQ(read<std::uint64_t>(folder.path() / "dropped.u64"), (std::vector<std::uint64_t>{1}));
}

TEST_F(ServerTest, PacketsThatAStageHoldsAreAccountedFor) {
  decide = [](std::uint64_t number) { return number < 3 ? Fate::kHeld : Fate::kForward; };
  open("test-script");
  server_->begin(1);
  send_burst({packet(frame(1, 0)), packet(frame(1, 1)), packet(frame(1, 2))});
  const json held = collect(1);
  EXPECT_EQ(held["received"], 3);
  EXPECT_EQ(held["held"], 3);
  EXPECT_EQ(held["transmitted"], 0);
  send(packet(std::vector<std::byte>(64)));  // of no trial, and none is under way
  receive(4);

  decide = [](std::uint64_t number) { return number == 0 ? Fate::kHeld : Fate::kForward; };
  server_->begin(2);
  send(packet(frame(2, 0)));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  send(packet(frame(2, 1)));
  receive(2);
  const json served = collect(2);
  EXPECT_EQ(served["held"], 0);
  EXPECT_EQ(served["received"], 2);
  EXPECT_EQ(served["transmitted"], 2);
}

TEST_F(ServerTest, SeveralLoopsAreAddedUp) {
  open("forward", 1, 3);
  ASSERT_EQ(server_->warnings().size(), 1U);
  EXPECT_EQ(server_->warnings()[0].code, "oversubscribed");
  server_->begin(4);
  for (std::uint64_t i = 0; i < 300; ++i) send(packet(frame(4, i)), static_cast<std::uint16_t>(i % 3));
  receive(300, 0, 3);
  const TemporaryDirectory folder;
  const json served = collect(4, folder.path());
  EXPECT_EQ(served["received"], 300);
  EXPECT_EQ(served["transmitted"], 300);
  ASSERT_EQ(served["cores"].size(), 3U);
  for (const auto& core : served["cores"]) EXPECT_EQ(core["received"], 100);
  EXPECT_EQ(bits(read<std::uint8_t>(folder.path() / "received.bitmap")).size(), 300U);
}

TEST_F(ServerTest, PacketsForTheNextServerGoThereAndTheAnswersBack) {
  decide = [](std::uint64_t number) { return number % 2 == 0 ? Fate::kNext : Fate::kForward; };
  open("test-script", 2);
  server_->begin(1);
  for (std::uint64_t i = 0; i < 10; ++i) send(packet(frame(1, i)));
  receive(5);
  auto away = receive(5, 1);
  away.pop_back();  // lost at the next server
  for (const auto& each : away) send(packet(each), 0, 1);
  receive(4);
  const json served = collect(1);
  EXPECT_EQ(served["received"], 10);
  EXPECT_EQ(served["transmitted"], 9);
  EXPECT_EQ(served["away"], 1);
}

TEST_F(ServerTest, WithoutANextServerWhatIsMeantForItFails) {
  decide = [](std::uint64_t) { return Fate::kNext; };
  open("test-script");
  server_->begin(1);
  send(packet(frame(1, 0)));
  EXPECT_EQ(collect(1)["dropped"], (json{{"failed", 1}}));
}

TEST_F(ServerTest, NamesWhatTheJobGetsWrong) {
  const auto opens = [&](const std::function<void(ServerJob&)>& change) {
    return [this, change] {
      ServerJob job;
      job.ports = {{"null", Role::kServer, {}}};
      job.cpus = {measure::allowed_cpus().front()};
      job.memory.mb = 8;
      job.workload.name = "test-script";
      change(job);
      const ServerSession session(job, engines_);
    };
  };
  expect_error(opens([](ServerJob& job) { job.workload.name = "foward"; }), {"no workload 'foward'", "forward"});
  expect_error(opens([](ServerJob& job) { job.workload.params = {{"mode", "c"}}; }), {"mode must be one of a, b"});
  expect_error(opens([](ServerJob& job) { job.workload.params = {{"size", "c"}}; }), {"no parameter 'size'"});
  expect_error(opens([](ServerJob& job) { job.stages = {"skript"}; }), {"no stage 'skript'", "script"});
  expect_error(opens([](ServerJob& job) { job.workload.engines["other"] = "x"; }), {"no stage 'other'"});
  expect_error(opens([](ServerJob& job) { job.workload.engines["script"] = "x"; }), {"no engine 'x'", "portable"});
  expect_error(opens([](ServerJob& job) { job.workload.engines["script"] = "absent"; }), {"cannot run here", "no such device"});
  expect_error(opens([](ServerJob& job) { job.ports[0].kind = "nul"; }), {"nul"});
}

TEST(Workloads, AreFoundAndDescribed) {
  ASSERT_NE(find_workload("forward"), nullptr);
  EXPECT_EQ(find_workload("nothing"), nullptr);
  const json catalog = workload_catalog(EngineCatalog());
  const auto it = std::find_if(catalog.begin(), catalog.end(), [](const json& one) { return one["name"] == "test-script"; });
  ASSERT_NE(it, catalog.end());
  EXPECT_EQ((*it)["stages"][0]["engines"][1],
            (json{{"name", "absent"}, {"summary", ""}, {"available", false}, {"reason", "there is no such device"}}));
  EXPECT_EQ((*it)["parameters"][0]["default"], "a");
}

TEST(Workloads, NullWorkloadKnowsWhatMustComeBack) {
  inputs::Store store({}, 1);
  const auto expectation = find_workload("forward")->expect({}, store, EngineCatalog(), {});
  std::vector<std::byte> sent(60);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i);
  std::vector<std::byte> reply = sent;
  EXPECT_EQ(expectation->judge(0, sent, reply, false), Expectation::Answer::kWrong);
  std::rotate(reply.begin(), reply.begin() + 6, reply.begin() + 12);
  EXPECT_EQ(expectation->judge(0, sent, reply, false), Expectation::Answer::kRight);
  for (const std::size_t at : {0U, 6U, 11U, 12U, 41U, 59U}) {
    auto wrong = reply;
    wrong[at] ^= std::byte{1};
    EXPECT_EQ(expectation->judge(0, sent, wrong, false), Expectation::Answer::kWrong) << at;
    if (at >= 12) {
      EXPECT_NE(expectation->explain(0, sent, wrong).find("from byte " + std::to_string(at)), std::string::npos);
    }
  }
  EXPECT_EQ(expectation->judge(0, sent, std::span(reply).first(59), false), Expectation::Answer::kWrong);
  EXPECT_EQ(expectation->judge(0, sent, std::span(reply).first(3), false), Expectation::Answer::kWrong);
}

}  // namespace
}  // namespace dpubench::datapath
