// Tests the client with real ports, captures, rules and a server in its process.

#include "datapath/client/session.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "datapath/client/check.hpp"
#include "datapath/client/scripted_port.hpp"
#include "datapath/frame/trailer.hpp"
#include "native/expect_error.hpp"
#include "native/shared_data.hpp"
#include "native/temporary_directory.hpp"
#include "operators/regex/work.hpp"
#include "packet/frame.hpp"

namespace dpubench::datapath {
namespace {

using dpubench::test::expect_error;
using dpubench::test::TemporaryDirectory;
using nlohmann::json;

const EngineCatalog& engines() {
  static const EngineCatalog* const catalog = [] {
    auto* const loaded = new EngineCatalog;
    if (const char* folder = std::getenv("DPUBENCH_ENGINE_DIR"); folder != nullptr) loaded->load(folder);
    return loaded;
  }();
  return *catalog;
}

TrafficJob ring_job(const std::string& pair) {
  TrafficJob job;
  job.port = {"ring", Role::kClient, {{"name", pair}}};
  job.server.emplace();
  job.server->ports = {{"ring", Role::kServer, {{"name", pair}}}};
  job.server->cpus = {};
  job.server->memory.mb = 128;
  job.traffic.flows = 50;
  job.traffic.frame_sizes = {{64, 1.0}};
  job.cpu = sched_getcpu();
  return job;
}

std::uint64_t sum(const json& counts) {
  std::uint64_t total = 0;
  for (const auto& [place, count] : counts.items()) total += count.get<std::uint64_t>();
  return total;
}

/// Run a trial with the server of the same process, and expect that both sides account for every packet alike.
/// @return the event `served`
json expect_agreement(ClientSession& session, const TrialSpec& spec) {
  const TemporaryDirectory folder;
  const std::atomic<bool> stop = false;
  session.server()->begin(spec.number);
  const json trial = session.trial(spec, stop);
  const json served = session.server()->collect(spec.number, folder.path());
  const json checked = session.check(spec.number, folder.path());
  EXPECT_TRUE(checked["agree"]) << checked;
  EXPECT_EQ(trial["wrong"], 0) << trial["first_wrong"];
  EXPECT_EQ(trial["corrupted"], 0);
  EXPECT_EQ(trial["received"].get<std::uint64_t>() + sum(checked["lost"]) + checked["excused"].get<std::uint64_t>(),
            trial["due"]);
  EXPECT_GT(trial["received"], 0);
  expect_error([&] { (void)session.check(spec.number + 1, folder.path()); }, {"cannot be checked"});
  return served;
}

TEST(ClientSession, ARingPortEchoesEveryPacket) {
  const rte_mempool* const started = test::pool();
  ASSERT_NE(started, nullptr);
  ClientSession session(ring_job("session-echo"), engines());
  const json ready = session.ready();
  EXPECT_EQ(ready["ports"][0]["kind"], "ring");
  EXPECT_EQ(ready["templates"], 1);
  EXPECT_EQ(ready["flows"], 50);
  for (const Schedule schedule : {Schedule::kConstant, Schedule::kPoisson, Schedule::kFlood}) {
    SCOPED_TRACE(static_cast<int>(schedule));
    (void)expect_agreement(
        session, {.number = 3, .rate_pps = 20'000, .schedule = schedule, .ramp_s = 0.01, .duration_s = 0.1, .drain_s = 0.2});
  }
}

/// After a fill, the table knows every flow of the traffic: no packet enters a flow, and every count is right. A cold table
/// meets the flows in the trial.
TEST(ClientSession, ATableThatWasFilledMeetsNoNewFlow) {
  ASSERT_NE(test::pool(), nullptr);
  for (const char* const start : {"prefilled", "cold"}) {
    SCOPED_TRACE(start);
    TrafficJob job = ring_job(std::string("session-fill-") + start);
    job.traffic.flows = 500;
    job.workload.name = "flow-table";
    job.workload.params = Params{{"flows", "1000"}, {"start", start}};
    job.server->workload = job.workload;
    job.server->workload.engines = {{"table", "portable"}};
    ClientSession session(job, engines());
    session.server()->begin(1);
    const json filled = session.fill(1);
    EXPECT_EQ(filled["answered"], filled["flows"]);
    EXPECT_GT(filled["flows"], 100);
    EXPECT_LE(filled["flows"], 500);
    const Beginning how{.ramp_s = 0.01, .duration_s = 0.1, .keeps_flows = true};
    const bool is_cold = std::string(start) == "cold";
    for (const std::uint32_t number : {2U, 3U}) {
      const json begun = session.server()->begin(number, how);
      EXPECT_EQ(begun["flows"]["known"], is_cold ? json(0) : filled["flows"]);
      EXPECT_EQ(begun["flows"]["room"], 1000);
      const TemporaryDirectory folder;
      const std::atomic<bool> stop = false;
      const json trial =
          session.trial({.number = number, .rate_pps = 50'000, .ramp_s = 0.01, .duration_s = 0.1, .drain_s = 0.1}, stop);
      const json served = session.server()->collect(number, folder.path());
      const json checked = session.check(number, folder.path());
      EXPECT_TRUE(checked["agree"]) << checked;
      EXPECT_EQ(checked["flows_wrong"], 0);
      const json& table = served["workload"]["flow_table"];
      EXPECT_EQ(table["inserted"] == 0, !is_cold) << table;
      ASSERT_TRUE(served.contains("measured"));
      const auto ns = [&](const char* name) { return served["measured"][name].get<double>(); };
      EXPECT_NEAR(ns("core_ns"), ns("application_ns") + ns("idle_ns"), 10);
      EXPECT_FALSE(served["measured"].contains("receive_work_ns"));
    }
  }
}

/// Segments come out of order, twice, or in part twice. A signature across them is found when its last byte arrives, and a
/// segment that only repeats bytes is echoed.
TEST(ClientSession, SignaturesAcrossRepeatedAndOverlappingSegmentsAreRecognised) {
  if (const EngineSlot* const pcre2 = engines().find("regex", "pcre2"); pcre2 == nullptr || pcre2->engine == nullptr) {
    GTEST_SKIP() << "no engine pcre2 in DPUBENCH_ENGINE_DIR";
  }
  ASSERT_NE(test::pool(), nullptr);
  const TemporaryDirectory folder;
  TrafficJob job = ring_job("session-segments");
  job.inputs["rules"] = {folder.write("rules", "1:/leave-it-alone/\n2:/attack[0-9]{4}/\n3:/evil(payload|request)/i\n")};
  job.inputs["corpus"] = {folder.write("corpus", std::string(200'000, 'x') + "end")};
  job.traffic.protocol = "tcp";
  job.traffic.segments = 5;
  job.traffic.retransmit_share = 0.2;
  job.traffic.overlap_share = 0.3;
  job.traffic.payload.signature_share = 0.5;
  job.traffic.frame_sizes = {{98, 1.0}, {512, 1.0}};
  job.workload.name = "application-recognition";
  job.workload.params = Params{{"mode", "stream"}};
  job.server->workload = job.workload;
  job.server->workload.engines = {{"scan", "pcre2"}, {"hash", "portable"}, {"compress", "portable"}};
  job.server->inputs = job.inputs;
  ClientSession session(job, engines());
  const json served =
      expect_agreement(session, {.number = 3, .rate_pps = 20'000, .ramp_s = 0.01, .duration_s = 0.2, .drain_s = 0.2});
  const json& stream = served["workload"]["stream"];
  EXPECT_GT(stream["repeated"], stream["segments"].get<std::uint64_t>() / 10);
  EXPECT_GT(stream["out_of_order"], 0);
}

TEST(ClientSession, SaysWhatIsWrong) {
  ASSERT_NE(test::pool(), nullptr);
  TrafficJob job = ring_job("session-wrong");
  job.workload.name = "no-such";
  expect_error([&] { ClientSession session(job, engines()); }, {"no workload 'no-such'", "forward"});
}

/// A trial of 10,000 packets over a link that loses every hundredth. Each test checks its own files against it.
class Check : public testing::Test {
 protected:
  TrafficJob job;
  TrialSpec spec{
      .number = 1, .rate_pps = 1e6, .schedule = Schedule::kInterval, .ramp_s = 0, .duration_s = 0.01, .drain_s = 0.001};
  test::ScriptedPort port{test::pool()};
  std::unique_ptr<Traffic> traffic;
  std::unique_ptr<TrialRunner> runner;
  TemporaryDirectory folder;
  std::vector<std::byte> received = std::vector<std::byte>(1250, std::byte{0xff});
  std::vector<std::uint64_t> dropped;
  std::vector<std::uint64_t> refused;

  Check() { job.traffic.frame_sizes = {{64, 1.0}}; }

  struct Ticks {
    std::uint64_t now = 0;
    std::uint64_t now_ns() { return std::exchange(now, now + 1000); }
  };

  void run() {
    inputs::Store store(job.inputs, job.seed);
    traffic = model_traffic(job, store, engines());
    runner = std::make_unique<TrialRunner>(port, *traffic, nullptr, job);
    port.act = [](std::uint64_t i) {
      return i % 100 == 5 ? test::Act::kLose : i % 1000 == 7 ? test::Act::kRefuse : test::Act::kEcho;
    };
    const std::atomic<bool> stop = false;
    Ticks clock;
    (void)runner->run(spec, stop, clock);
    for (std::uint64_t i = 7; i < 10'000; i += 1000) lose(i);
  }
  void lose(std::uint64_t number) { received[number / 8] &= ~static_cast<std::byte>(1U << number % 8); }
  json check(const Params& workload = {}, const Expectation* expectation = nullptr) {
    const auto text = [](const auto& values) {
      return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]);
    };
    (void)folder.write("received.bitmap", text(received));
    (void)folder.write("dropped.u64", text(dropped));
    (void)folder.write("tx_full.u64", text(refused));
    return check_trial(*runner, *traffic, expectation, workload, folder.path());
  }
};

TEST_F(Check, EveryLossHasItsPlace) {
  run();
  for (std::uint64_t i = 105; i <= 505; i += 100) lose(i);
  dropped = {605, 705, 805};
  refused = {905, 1005};
  const json checked = check();
  EXPECT_TRUE(checked["agree"]) << checked["first_wrong"];
  EXPECT_EQ(checked["lost"], json::parse(R"({"client_transmit": 10, "server_receive": 5, "server_drop": 3, "server_transmit": 2,
                                            "client_receive": 90})"));
}

/// Lets the workload drop every packet, or none.
struct Droppable final : Expectation {
  explicit Droppable(bool all) : drops(all) {}
  Answer judge(std::uint32_t, std::span<const std::byte>, std::span<const std::byte>, bool) override { return Answer::kRight; }
  std::string explain(std::uint32_t, std::span<const std::byte>, std::span<const std::byte>) override { return {}; }
  [[nodiscard]] bool may_drop(std::uint32_t /*index*/) const override { return drops; }
  bool drops;
};

TEST_F(Check, WhatMayBeDroppedIsExcused) {
  run();
  dropped = {605, 705, 805};
  refused = {905};
  for (const bool may : {true, false}) {
    const Droppable expectation(may);
    const json checked = check({}, &expectation);
    EXPECT_TRUE(checked["agree"]) << checked["first_wrong"];
    EXPECT_EQ(checked["excused"], may ? 3 : 0);
    EXPECT_EQ(checked["lost"]["server_drop"], may ? 0 : 3);
    EXPECT_EQ(checked["lost"]["server_transmit"], 1) << "the port refused it, whatever the workload may do";
  }
}

TEST_F(Check, WhatCannotBeIsFound) {
  run();
  lose(1);
  EXPECT_NE(check()["first_wrong"].get<std::string>().find("packet 1 came back, but the server did not receive it"),
            std::string::npos);
  received[0] = std::byte{0xff};
  EXPECT_NE(check()["first_wrong"].get<std::string>().find("packet 7 was received by the server, but"), std::string::npos);
  lose(7);
  dropped = {2};
  EXPECT_NE(check()["first_wrong"].get<std::string>().find("packet 2 came back"), std::string::npos);
  dropped = {};
  received.push_back(std::byte{1});
  EXPECT_NE(check()["first_wrong"].get<std::string>().find("packet 10000 was received by the server, but never sent"),
            std::string::npos);
}

TEST_F(Check, DumpsThatAreNoneAreRefused) {
  run();
  expect_error([&] { (void)check_trial(*runner, *traffic, nullptr, {}, folder.path() / "none"); }, {"received.bitmap"});
  (void)check();
  (void)folder.write("dropped.u64", "12345");
  expect_error([&] { (void)check_trial(*runner, *traffic, nullptr, {}, folder.path()); }, {"dropped.u64", "5 bytes"});
  (void)folder.write("dropped.u64", "");
  (void)folder.write("flows.bin", "123");
  expect_error([&] { (void)check_trial(*runner, *traffic, nullptr, {}, folder.path()); }, {"flows.bin", "inside a record"});
}

TEST_F(Check, FlowsAreCountedByReplay) {
  job.traffic.flows = 20;
  job.traffic.churn_per_s = 2000;
  run();
  dropped = {605};
  struct Count {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::uint32_t, Count> counts;
  Cursor cursor(*traffic);
  DueTimes due = runner->due_times(spec);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const PacketRef packet = cursor.next(due.next());
    if (i % 1000 == 7 || i == 605) continue;
    ++counts[packet.flow].packets;
    counts[packet.flow].bytes += 64;
  }
  const auto write = [&](const Params& params) {
    std::string records;
    for (const auto& [flow, count] : counts) {
      const inputs::Flow tuple = traffic->space.tuple(flow, 4, 17);
      const bool paper = params.is("key", "paper");
      // Write the count in two records, which add up.
      for (const std::uint64_t packets : {std::uint64_t{1}, count.packets - 1}) {
        std::string record{4, static_cast<char>(paper ? 0 : 17)};
        const auto add = [&record](auto value) { record.append(reinterpret_cast<const char*>(&value), sizeof value); };
        record.resize(2);
        record[0] = 4;
        add(static_cast<std::uint16_t>(paper ? 0 : tuple.source_port));
        add(tuple.destination_port);
        add(std::uint16_t{0});
        add(tuple.source);
        add(tuple.destination);
        add(packets);
        add(packets == 1 ? 64 : count.bytes - 64);
        records += record;
      }
    }
    (void)folder.write("flows.bin", records);
    return check(params);
  };
  for (const char* key : {"paper", "five_tuple"}) {
    const json checked = write({{"key", key}});
    EXPECT_TRUE(checked["agree"]) << checked["first_wrong"];
    EXPECT_EQ(checked["flows"], counts.size());
    EXPECT_EQ(checked["flows_wrong"], 0);
  }
  EXPECT_GT(counts.size(), 20U) << "churn";
  ++counts.begin()->second.packets;
  EXPECT_EQ(write({{"key", "paper"}})["flows_wrong"], 1);
  --counts.begin()->second.packets;
  counts[1'000'000] = {2, 128};
  const json checked = write({{"key", "paper"}});
  EXPECT_EQ(checked["flows_wrong"], 2) << "both records";
  EXPECT_NE(checked["first_wrong"].get<std::string>().find("never sent"), std::string::npos);
  EXPECT_FALSE(checked["agree"]);
}

TEST_F(Check, WhatWentThroughElsewhereAndIsLostOnItsWayBackIsNotLocated) {
  run();
  std::ranges::fill(received, std::byte{0});
  port.act = [](std::uint64_t) { return test::Act::kLose; };
  const std::atomic<bool> stop = false;
  Ticks clock;
  (void)runner->run(spec, stop, clock);
  const inputs::Flow tuple = traffic->space.tuple(Cursor(*traffic).next(0).flow, 4, 17);
  std::string record{4, 0};
  const auto add = [&record](auto value) { record.append(reinterpret_cast<const char*>(&value), sizeof value); };
  record.resize(2);
  record[0] = 4;
  add(std::uint16_t{0});
  add(tuple.destination_port);
  add(std::uint16_t{0});
  add(tuple.source);
  add(tuple.destination);
  add(std::uint64_t{1});
  add(std::uint64_t{64});
  (void)folder.write("flows.bin", record);
  const json checked = check({{"key", "paper"}});
  EXPECT_TRUE(checked["agree"]) << checked["first_wrong"];
  EXPECT_EQ(checked["unlocated"], 10'000);
}

TEST(ClientCaptures, EveryRealCaptureGoesThroughAndComesBack) {
  NEED_SHARED_DATA("pcap");
  std::size_t captures = 0;
  for (const auto& file : std::filesystem::directory_iterator(dpubench::test::shared_data() / "pcap")) {
    if (!file.path().extension().string().starts_with(".pcap")) continue;
    SCOPED_TRACE(file.path());
    TrafficJob job;
    job.traffic.source = "capture";
    job.max_frame = 1600;
    job.inputs["capture"] = {file.path()};
    inputs::Store store(job.inputs, job.seed);
    const auto traffic = captured_traffic(job, store);
    const inputs::Capture& capture = store.capture();
    std::size_t sendable = 0;
    for (const inputs::Packet& packet : capture.packets) {
      if (packet.length + kEthernetBytes + kTrailerBytes + kFcsBytes > job.max_frame) continue;
      const auto ip = capture.ip(packet);
      const auto& frame = traffic->templates.at(sendable).frame;
      ASSERT_TRUE(std::equal(ip.begin(), ip.end(), frame.begin() + kEthernetBytes)) << sendable;
      // The trailer lies behind the packet, whatever its header says.
      const packet::Parsed parsed = packet::parse(frame);
      ASSERT_LE(
          std::max<std::size_t>(parsed.end, kEthernetBytes + ip.size()) + trailer_bytes(static_cast<std::uint32_t>(frame.size())),
          frame.size())
          << sendable;
      ++sendable;
    }
    EXPECT_EQ(traffic->templates.size(), sendable);
    EXPECT_EQ(traffic->notes.empty(), sendable == capture.packets.size());
    test::ScriptedPort port{test::pool()};
    TrialRunner runner(port, *traffic, nullptr, job);
    struct {
      std::uint64_t now = 0;
      std::uint64_t now_ns() { return std::exchange(now, now + 1000); }
    } clock;
    const std::atomic<bool> stop = false;
    const TrialSpec spec{.number = 1, .rate_pps = 1e6, .ramp_s = 0, .duration_s = 0.02, .drain_s = 0.001};
    const json event = runner.run(spec, stop, clock);
    EXPECT_EQ(event["received"], 20'000);
    EXPECT_EQ(event["received_bytes"], event["sent_bytes"]);
    ++captures;
  }
  EXPECT_GT(captures, 5U);
}

TEST(ClientCaptures, CapturesOfNothingButLargePacketsAreRefused) {
  NEED_SHARED_DATA("pcap/netflix.pcap");
  TrafficJob job;
  job.traffic.source = "capture";
  job.max_frame = 64;
  job.inputs["capture"] = {dpubench::test::shared_data() / "pcap/netflix.pcap"};
  inputs::Store store(job.inputs, job.seed);
  try {
    EXPECT_FALSE(captured_traffic(job, store)->notes.empty());
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("max_frame"), std::string::npos);
  }
}

TEST(ClientSignatures, PlantedOnesMatchTheirRuleAndHaveTheirShare) {
  const EngineSlot* const pcre2 = engines().find("regex", "pcre2");
  if (pcre2 == nullptr || pcre2->engine == nullptr) GTEST_SKIP() << "no engine pcre2 in DPUBENCH_ENGINE_DIR";
  const TemporaryDirectory folder;
  TrafficJob job;
  job.inputs["rules"] = {folder.write("rules", "1:/attack[0-9]{4}/\n2:/evil(payload|request)/i\n")};
  job.traffic.flows = 10;
  job.traffic.frame_sizes = {{256, 1.0}};
  job.traffic.payload.signature_share = 0.25;
  inputs::Store store(job.inputs, job.seed);
  const auto traffic = model_traffic(job, store, engines());
  std::vector<bool> planted;
  for (const FrameTemplate& from : traffic->templates) {
    std::string text(reinterpret_cast<const char*>(from.frame.data()), from.frame.size());
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    planted.push_back(text.find("attack") != std::string::npos || text.find("evil") != std::string::npos);
  }
  std::size_t carrying = 0;
  for (const std::uint16_t message : traffic->message_order) carrying += planted[message] ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(carrying) / static_cast<double>(traffic->message_order.size()), 0.25, 0.001);
  job.traffic.frame_sizes = {{64, 1.0}};
  inputs::Store other(job.inputs, job.seed);
  expect_error([&] { (void)model_traffic(job, other, engines()); }, {"signature_share", "larger frames"});
}

}  // namespace
}  // namespace dpubench::datapath
