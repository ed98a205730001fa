#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "datapath/frame/trailer.hpp"
#include "datapath/test_memory.hpp"
#include "headroom/job.hpp"
#include "headroom/packet.hpp"
#include "headroom/pktgen.hpp"
#include "headroom/session.hpp"
#include "headroom/sink.hpp"
#include "headroom/testing.hpp"
#include "headroom/transmit.hpp"
#include "native/temporary_directory.hpp"

namespace dpubench::headroom::test {
namespace {

using nlohmann::json;

json udp_job() {
  return {{"schema", "dpubench.headroom-job/1"},
          {"threads", 2},
          {"max_packet", 2000},
          {"backend", {{"kind", "udp"}, {"arguments", {{"local", "127.0.0.1:47310"}, {"peer", "127.0.0.1:47320"}}}}}};
}

TEST(HeadroomJob, NamesEachFaultyField) {
  const HeadroomJob job = parse_job(udp_job().dump());
  EXPECT_EQ(job.threads, 2U);
  EXPECT_EQ(job.backend.arguments.at("peer"), "127.0.0.1:47320");
  json wrong = udp_job();
  wrong["threads"] = 0;
  wrong["backend"]["kind"] = "smoke";
  wrong["destination_mac"] = "2:0:0:0:0:1";
  wrong["cheese"] = 1;
  const std::string fault = fault_of([&] { parse_job(wrong.dump()); });
  for (const char* part : {"/threads", "must be a whole number from 1 to 256", "/backend/kind",
                           "must be one of pktgen, port, udp", "/destination_mac", "/cheese"}) {
    EXPECT_NE(fault.find(part), std::string::npos) << part << " in " << fault;
  }
  json sink = udp_job();
  sink["role"] = "sink";
  sink["backend"] = {{"kind", "pktgen"}};
  EXPECT_NE(fault_of([&] { parse_job(sink.dump()); }).find("pktgen only sends"), std::string::npos);
}

TEST(HeadroomJob, ReadsCommands) {
  const auto trial =
      std::get<TrialSpec>(parse_command(R"({"trial": {"number": 3, "size": 66, "delay": "memory", "delay_ns": 12.5}})"));
  EXPECT_EQ(trial.delay, Delay::kMemory);
  EXPECT_EQ(trial.delay_ns, 12.5);
  EXPECT_TRUE(std::holds_alternative<EndCommand>(parse_command(R"({"end": true})")));
  EXPECT_EQ(std::get<CollectCommand>(parse_command(R"({"collect": 3, "expected": 17})")).expected, 17U);
  EXPECT_NE(fault_of([] { parse_command(R"({"trial": {"size": 65}})"); }).find("/trial/size"), std::string::npos);
  EXPECT_NE(fault_of([] {
              parse_command(R"({"trial": {"delay": "sleep"}})");
            }).find("cache, memory, none, operator, schedule, spacing, spin"),
            std::string::npos);
  EXPECT_NE(fault_of([] { parse_command(R"({"hurry": 1})"); }).find("a command is"), std::string::npos);
}

TEST(HeadroomPacket, IsCountedOnceAndTellsItsTrial) {
  for (const std::uint32_t size : {kMinPacket, 67U, 128U, 1514U, kMaxPacket}) {
    std::vector<std::byte> packet = make_packet(size, "02:00:00:00:00:02", 1);
    ASSERT_EQ(packet.size(), size);
    // The sum of an IPv4 header with its checksum is zero (RFC 1071).
    std::uint32_t sum = 0;
    for (std::size_t i = 14; i < 34; i += 2) {
      sum += std::to_integer<std::uint32_t>(packet[i]) << 8 | std::to_integer<std::uint32_t>(packet[i + 1]);
    }
    EXPECT_EQ((sum & 0xffffU) + (sum >> 16), 0xffffU);
    write_number(packet, 9, 1, 1000);
    Tally tally;
    count(tally, packet, 9);
    count(tally, packet, 8);
    packet.back() ^= std::byte{1};
    count(tally, packet, 9);
    count(tally, std::span(packet).first(20), 9);
    EXPECT_EQ(tally.packets, 1U);
    EXPECT_EQ(tally.bytes, size);
    EXPECT_EQ(tally.number_sum, 1000U);
    EXPECT_EQ(tally.stale, 1U);
    EXPECT_EQ(tally.other, 2U);
  }
}

TEST(HeadroomPacket, SumsTheNumbersOfWhatWasSent) {
  for (const std::uint64_t reuse : {1U, 2U, 7U, 100U}) {
    for (const std::uint64_t packets : {0U, 1U, 2U, 6U, 7U, 8U, 99U, 1000U, 1001U}) {
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < packets; ++i) sum += i / reuse;
      EXPECT_EQ(sum_of_numbers(packets, reuse), sum) << packets << " packets, " << reuse << " uses";
    }
  }
}

TEST(HeadroomWork, WalksThroughAllOfItsTable) {
  const WalkTable table(64 * 1000, 5);
  ASSERT_EQ(table.bytes(), 64'000U);
  std::vector<bool> seen(1000);
  std::uint32_t at = table.start(3);
  for (int i = 0; i < 1000; ++i) {
    at = table.walk(at, 1);
    EXPECT_FALSE(seen[at]) << "a line came twice before all had come";
    seen[at] = true;
  }
  EXPECT_EQ(at, table.start(3)) << "the cycle is closed";
  EXPECT_EQ(table.walk(at, 1000), at);
}

/// A device that takes a number of packets at a time, and refuses now and then.
class ScriptedLink final : public Link {
 public:
  explicit ScriptedLink(std::uint32_t room) : room_(room) {}

  std::unique_ptr<Outlet> open_outlet(unsigned thread) override { return std::make_unique<ScriptedOutlet>(*this, thread); }
  std::unique_ptr<Inlet> open_inlet() override { return nullptr; }
  [[nodiscard]] bool is_up() const override { return true; }
  [[nodiscard]] json described() const override { return {}; }

  std::vector<std::uint64_t> taken = std::vector<std::uint64_t>(8);
  std::string fault;

 private:
  class ScriptedOutlet final : public Outlet {
   public:
    ScriptedOutlet(ScriptedLink& link, unsigned thread) : link_(link), thread_(thread) {}
    void prepare(const TrialSpec& spec) override {
      if (spec.size == 1001) throw Error("too large");
      link_.taken[thread_] = 0;
    }
    std::uint32_t send(std::uint32_t n) noexcept override {
      const std::uint32_t now = std::min(n, link_.room_);
      link_.taken[thread_] += now;
      return now;
    }
    std::string finish() override { return link_.fault; }

   private:
    ScriptedLink& link_;
    unsigned thread_;
  };
  std::uint32_t room_;
};

TEST(HeadroomTransmit, AccountsForEveryBurst) {
  for (const Delay delay : {Delay::kNone, Delay::kSpacing, Delay::kSpin, Delay::kCache}) {
    ScriptedLink link(32);
    Transmitter transmitter(job_of(3), link);
    const Sent sent = transmitter.trial({.number = 1,
                                         .size = 100,
                                         .threads = 2,
                                         .burst = 32,
                                         .reuse = 4,
                                         .duration_s = 0.005,
                                         .delay = delay,
                                         .delay_ns = 20'000});
    EXPECT_EQ(sent.packets, link.taken[0] + link.taken[1]);
    EXPECT_EQ(link.taken[2], 0U) << "a thread that takes no part";
    EXPECT_EQ(sent.packets, sent.bursts * 32);
    EXPECT_EQ(sent.refusals, 0U);
    EXPECT_EQ(sent.number_sum, sum_of_numbers(link.taken[0], 4) + sum_of_numbers(link.taken[1], 4));
    EXPECT_GE(sent.elapsed_ns, 5e6);
    EXPECT_EQ(sent.waited_ns > 0, delay == Delay::kSpacing);
    EXPECT_EQ(sent.inserted_ns > 0, delay == Delay::kSpin || delay == Delay::kCache);
    EXPECT_EQ(sent.blocked_ns, 0);
    const double parts = sent.burst_ns + sent.waited_ns + sent.inserted_ns;
    EXPECT_LE(parts, 2 * sent.elapsed_ns * (1 + 1e-9)) << "two threads have two times the time";
    if (delay == Delay::kSpacing) {
      EXPECT_LE(sent.bursts, 2 * (sent.elapsed_ns / 20'000 + 1)) << "bursts begin no closer to each other";
    }
  }
}

TEST(HeadroomTransmit, TellsWhatADeviceRefuses) {
  ScriptedLink link(5);
  Transmitter transmitter(job_of(1), link);
  const Sent sent = transmitter.trial({.number = 1, .size = 100, .burst = 12, .duration_s = 0.003});
  // The last burst may end with the trial.
  EXPECT_GT(sent.packets, (sent.bursts - 1) * 12) << "what is refused is offered again";
  EXPECT_LE(sent.packets, sent.bursts * 12);
  EXPECT_GE(sent.refusals, (sent.bursts - 1) * 2);
  EXPECT_GT(sent.blocked_ns, 0);
  ScriptedLink closed(0);
  Transmitter stuck(job_of(1), closed);
  const Sent none = stuck.trial({.number = 1, .size = 100, .burst = 12, .duration_s = 0.003});
  EXPECT_EQ(none.packets, 0U);
  EXPECT_EQ(none.bursts, 1U) << "the trial ends though its burst does not";
}

TEST(HeadroomTransmit, RefusesWhatIsNoTrial) {
  ScriptedLink link(5);
  Transmitter transmitter(job_of(2), link);
  expect_refusals_of_crew([&](const TrialSpec& spec) { transmitter.trial(spec); });
  EXPECT_EQ(fault_of([&] { transmitter.trial({.size = 1001, .threads = 2, .duration_s = 0.001}); }), "too large");
  link.fault = "nobody listens";
  EXPECT_EQ(fault_of([&] { transmitter.trial({.size = 100, .duration_s = 0.001}); }), "nobody listens");
}

/// Send trials from a session to a sink in this process and compare the accounts.
void expect_all_arrive(HeadroomJob sender, HeadroomJob sink, const std::vector<std::uint32_t>& sizes) {
  const EngineCatalog engines;
  sink.part = Part::kSink;
  const auto far = session_of(sink, engines);
  const auto near = session_of(sender, engines);
  std::uint32_t number = 0;
  for (const std::uint32_t size : sizes) {
    for (const std::uint32_t burst : {1U, 5U, 33U}) {
      for (const std::uint32_t reuse : {1U, 10U}) {
        ++number;
        far->obey(BeginCommand{number});
        // Slow enough for a sink that shares its CPU.
        const json sent = near->obey(TrialSpec{.number = number,
                                               .size = size,
                                               .threads = sender.threads,
                                               .burst = burst,
                                               .reuse = reuse,
                                               .duration_s = 0.003,
                                               .delay = Delay::kSpacing,
                                               .delay_ns = 200'000});
        const json counted = far->obey(CollectCommand{number, sent["packets"]});
        EXPECT_GT(sent["packets"], 0);
        EXPECT_EQ(counted["packets"], sent["packets"]) << size << " B, burst " << burst;
        EXPECT_EQ(counted["number_sum"], sent["number_sum"]);
        EXPECT_EQ(counted["bytes"], sent["packets"].get<std::uint64_t>() * size);
        EXPECT_EQ(counted["other"], 0);
        EXPECT_EQ(counted["stale"], 0);
      }
    }
  }
  EXPECT_NE(fault_of([&] { far->obey(TrialSpec{}); }).find("for a sender"), std::string::npos);
  EXPECT_NE(fault_of([&] { near->obey(BeginCommand{1}); }).find("for a sink"), std::string::npos);
  EXPECT_NE(fault_of([&] { far->obey(CollectCommand{77, 0}); }).find("is not under way"), std::string::npos);
}

class HeadroomUdp : public testing::TestWithParam<const char*> {};

TEST_P(HeadroomUdp, EveryPacketArrives) {
  HeadroomJob sender = parse_job(udp_job().dump());
  sender.max_packet = 10'000;
  sender.backend.arguments["gso"] = GetParam();
  HeadroomJob sink = sender;
  sink.backend.arguments = {{"local", "127.0.0.1:47320"}};
  expect_all_arrive(sender, sink, {66, 128, 1500, 10'000});
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutGso, HeadroomUdp, testing::Values("no", "yes"));

TEST(HeadroomUdpFaults, AreNamed) {
  HeadroomJob job = parse_job(udp_job().dump());
  const auto opened = [&] { session_of(job); };
  job.backend.arguments["peer"] = "nowhere";
  EXPECT_NE(fault_of(opened).find("must be an IPv4 address and a port number"), std::string::npos);
  job.backend.arguments["peer"] = "127.0.0.1:47320";
  job.backend.arguments["gso"] = "perhaps";
  EXPECT_NE(fault_of(opened).find("gso=perhaps: must be yes or no"), std::string::npos);
  job.backend.arguments["gso"] = "no";
  job.backend.arguments["local"] = "192.0.2.1:47310";
  EXPECT_NE(fault_of(opened).find("it must be an address of this machine"), std::string::npos);
  job.backend.arguments["local"] = "127.0.0.1:47310";
  job.backend.arguments["speed"] = "1";
  EXPECT_NE(fault_of(opened).find("there is no argument 'speed'"), std::string::npos);
  job.backend.arguments.erase("speed");
  const auto session = session_of(job);
  const std::string alone = fault_of([&] {
    for (int i = 0; i < 20; ++i) session->obey(TrialSpec{.size = 100, .threads = 1, .burst = 4, .duration_s = 0.002});
  });
  EXPECT_NE(alone.find("nobody listens at 127.0.0.1:47320"), std::string::npos) << alone;
  EXPECT_NE(fault_of([&] { session->obey(TrialSpec{.size = 2001, .threads = 1}); }).find("opened for 2000 at most"),
            std::string::npos);
}

TEST(HeadroomPort, EveryPacketArrives) {
  dpubench::test::start_memory();
  HeadroomJob sender = job_of(2);
  sender.backend.port = {"ring", datapath::Role::kClient, {{"name", "headroom"}, {"ring", "1024"}}};
  HeadroomJob sink = sender;
  sink.backend.port.role = datapath::Role::kServer;
  expect_all_arrive(sender, sink, {66, 128, 1500});
  sender.max_packet = 9015;
  EXPECT_NE(fault_of([&] { session_of(sender); }).find("takes 9014 at most"), std::string::npos);
}

TEST(HeadroomOperator, RunsInTheLoopAndIsChecked) {
  const char* const folder = std::getenv("DPUBENCH_ENGINE_DIR");
  ASSERT_NE(folder, nullptr);
  EngineCatalog engines;
  engines.load(folder);
  dpubench::test::start_memory();
  HeadroomJob job = job_of(1);
  job.backend.port = {"null", datapath::Role::kClient, {}};
  job.operator_job = OperatorJob{"crc", "portable", Params{{"size", "1024"}}};
  const auto session = session_of(job, engines);
  EXPECT_EQ(session->ready()["operator"]["engine"], "portable");
  EXPECT_EQ(session->ready()["operator"]["item_bytes"], 1024);
  const json sent =
      session->obey(TrialSpec{.number = 1, .size = 1024, .burst = 8, .duration_s = 0.005, .delay = Delay::kOperator});
  EXPECT_GT(sent["packets"], 0);
  EXPECT_GT(sent["inserted_ns"], sent["burst_ns"]) << "a checksum of 1 KiB takes longer than handing over a buffer";
  job.operator_job->engine = "magic";
  EXPECT_NE(fault_of([&] { session_of(job, engines); }).find("no engine 'magic'"), std::string::npos);
}

TEST(HeadroomPktgen, ReadsTheKernelsResult) {
  // From Documentation/networking/pktgen.rst.
  const PktgenResult found = parse_pktgen_result(
      "Params: count 10000000  min_pkt_size: 60  max_pkt_size: 60\n"
      "Current:\n     pkts-sofar: 10000000  errors: 39664\n     started: 1103053986245187us  stopped: 1103053999346329us idle: "
      "880401us\n"
      "Result: OK: 13101142(c12220741+d880401) usec, 10000000 (60byte,0frags)\n  763292pps 390Mb/sec (390805504bps) errors: "
      "39664\n");
  EXPECT_EQ(found.packets, 10'000'000U);
  EXPECT_EQ(found.errors, 39'664U);
  EXPECT_DOUBLE_EQ(found.elapsed_ns, 13'101'142e3);
  EXPECT_DOUBLE_EQ(found.waited_ns, 880'401e3);
  EXPECT_NE(fault_of([] { parse_pktgen_result("Result: Idle"); }).find("no result"), std::string::npos);
}

TEST(HeadroomPktgen, SaysWhyItCannotRun) {
  const dpubench::test::TemporaryDirectory folder;
  EXPECT_NE(pktgen_unavailable(folder.path() / "pktgen").remedy.find("modprobe pktgen"), std::string::npos);
  HeadroomJob job = job_of(1);
  EXPECT_NE(fault_of([&] { Pktgen generator(job, folder.path() / "pktgen"); }).find("not loaded"), std::string::npos);
}

}  // namespace
}  // namespace dpubench::headroom::test
