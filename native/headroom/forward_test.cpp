#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/test_memory.hpp"
#include "headroom/forward.hpp"
#include "headroom/job.hpp"
#include "headroom/kernel.hpp"
#include "headroom/session.hpp"
#include "headroom/testing.hpp"
#include "native/temporary_directory.hpp"

namespace dpubench::headroom::test {
namespace {

using nlohmann::json;

TEST(ForwarderJob, NamesEachFaultyField) {
  const json side = {{"kind", "port"}, {"port", "memif"}, {"role", "server"}, {"arguments", {{"socket", "/run/in"}}}};
  json job = {{"schema", "dpubench.headroom-job/1"}, {"role", "forwarder"}, {"backend", side}, {"out", side}};
  EXPECT_EQ(parse_job(job.dump()).out.port.arguments.at("socket"), "/run/in");
  job["out"]["kind"] = "kernel";
  EXPECT_NE(fault_of([&] { parse_job(job.dump()); }).find("/out/kind: must be that of the way in, port"), std::string::npos);
  job["backend"]["kind"] = "udp";
  EXPECT_NE(fault_of([&] { parse_job(job.dump()); }).find("must be one of kernel, port, not 'udp'"), std::string::npos);
  job.erase("out");
  EXPECT_NE(fault_of([&] { parse_job(job.dump()); }).find("/out: is missing"), std::string::npos);
  json sink = {{"schema", "dpubench.headroom-job/1"},
               {"role", "sink"},
               {"backend", {{"kind", "udp"}}},
               {"out", side},
               {"own_sink", {{"backend", side}}}};
  const std::string fault = fault_of([&] { parse_job(sink.dump()); });
  EXPECT_NE(fault.find("/out: is for a forwarder"), std::string::npos) << fault;
  EXPECT_NE(fault.find("/own_sink: is for a sender"), std::string::npos) << fault;
  const std::string schedule = fault_of([] { parse_command(R"({"forward": {"delay": "schedule"}})"); });
  EXPECT_NE(schedule.find("/forward/delay: schedule is for senders"), std::string::npos) << schedule;
  EXPECT_TRUE(std::get<ForwardCommand>(parse_command(R"({"forward": {"verify": true}})")).spec.verify);
}

/// A device on each of whose queues packets wait, and whose way out takes a number of packets at a time.
class ScriptedPassage final : public Passage {
 public:
  explicit ScriptedPassage(std::uint32_t room) : room_(room) {}
  std::unique_ptr<Gate> open_gate() override { return std::make_unique<ScriptedGate>(*this); }
  [[nodiscard]] bool is_up() const override { return true; }
  [[nodiscard]] json described() const override { return {}; }

  std::vector<std::atomic<std::uint32_t>> waiting = std::vector<std::atomic<std::uint32_t>>(8);

 private:
  class ScriptedGate final : public Gate {
   public:
    explicit ScriptedGate(ScriptedPassage& passage) : passage_(passage) {}
    Passed pass(std::uint32_t queue, std::uint32_t most, Tally* tally, std::uint32_t /*trial*/) noexcept override {
      std::atomic<std::uint32_t>& waiting = passage_.waiting[queue];
      const std::uint32_t n = std::min(most, waiting.load());
      waiting -= n;
      if (tally != nullptr) tally->packets += n;
      return {.received = n, .forwarded = std::min(n, passage_.room_), .bytes = n * std::uint64_t{100}};
    }

   private:
    ScriptedPassage& passage_;
  };
  std::uint32_t room_;
};

TEST(Forwarder, AccountsForEveryPoll) {
  for (const Delay delay : {Delay::kNone, Delay::kSpacing, Delay::kSpin, Delay::kCache}) {
    ScriptedPassage passage(5);
    Forwarder forwarder(job_of(3), passage);
    passage.waiting[0] = 999;  // of an earlier trial
    forwarder.begin({.number = 7, .threads = 2, .burst = 8, .delay = delay, .delay_ns = 20'000, .verify = true});
    EXPECT_EQ(passage.waiting[0], 0U) << "what is left of earlier trials is let go";
    // Two threads have three queues.
    for (const std::uint32_t queue : {0U, 1U, 2U}) passage.waiting[queue] = 20;
    const Forwarded all = forwarder.collect(7, 60);
    EXPECT_EQ(all.received, 60U);
    EXPECT_EQ(all.bytes, 6000U);
    EXPECT_EQ(all.forwarded + all.dropped, 60U);
    // A burst of 8 finds room for 5. How packets meet polls is left to chance: none of 20 is dropped only in small bursts.
    ASSERT_TRUE(all.polls.has_value());
    EXPECT_EQ(all.polls->polls, all.polls->empty + all.polls->bursts);
    EXPECT_GE(all.polls->bursts, 9U) << "20 packets are three bursts of 8 at least";
    EXPECT_GT(all.polls->busy_ns, 0);
    EXPECT_EQ(all.polls->waited_ns > 0, delay == Delay::kSpacing);
    EXPECT_EQ(all.inserted_ns > 0, delay == Delay::kSpin || delay == Delay::kCache);
    EXPECT_EQ(all.table_bytes > 0, delay == Delay::kCache);
    const double parts = all.polls->busy_ns + all.polls->idle_ns + all.polls->waited_ns + all.inserted_ns;
    EXPECT_LE(parts, 2 * all.elapsed_ns * (1 + 1e-9)) << "two threads have two times the time";
    EXPECT_GE(all.open_ns, all.elapsed_ns);
    ASSERT_TRUE(all.numbers.has_value());
    EXPECT_EQ(all.numbers->packets, 60U);
  }
}

TEST(Forwarder, DropsWhatFindsNoRoom) {
  ScriptedPassage passage(5);
  Forwarder forwarder(job_of(1), passage);
  forwarder.begin({.number = 1, .threads = 1, .burst = 8});
  passage.waiting[0] = 8;
  const Forwarded all = forwarder.collect(1, 8);
  EXPECT_EQ(all.received, 8U);
  EXPECT_EQ(all.dropped, 3U);
  EXPECT_FALSE(all.numbers.has_value()) << "no packet was read";
}

TEST(Forwarder, EndsWhenNothingComes) {
  ScriptedPassage passage(5);
  Forwarder forwarder(job_of(1), passage);
  forwarder.begin({.number = 2, .threads = 1, .burst = 8});
  const Forwarded none = forwarder.collect(2, 100);
  EXPECT_EQ(none.received, 0U);
  EXPECT_EQ(none.elapsed_ns, 0);
  EXPECT_EQ(none.polls->polls, 0U) << "polls before the first packet are no part of the trial";
}

TEST(Forwarder, RefusesWhatIsNoTrial) {
  ScriptedPassage passage(5);
  Forwarder forwarder(job_of(2), passage);
  expect_refusals_of_crew([&](const TrialSpec& spec) { forwarder.begin(spec); });
  EXPECT_NE(fault_of([&] { forwarder.collect(1, 0); }).find("trial 1 is not under way"), std::string::npos);
  forwarder.begin({.number = 4});
  EXPECT_NE(fault_of([&] { forwarder.begin({.number = 5}); }).find("trial 4 is under way"), std::string::npos);
  EXPECT_NE(fault_of([&] { forwarder.collect(5, 0); }).find("trial 5 is not under way"), std::string::npos);
  // The trial under way ends with the forwarder.
}

/// A sender, a device and a sink in this process, joined by two rings.
struct Chain {
  explicit Chain(unsigned threads) {
    dpubench::test::start_memory();
    static int serial = 0;
    const std::string name = "chain" + std::to_string(serial++);
    const auto end = [&](datapath::Role role, const char* which) {
      BackendSpec spec;
      spec.port = {"ring", role, {{"name", name + which}, {"ring", "1024"}}};
      return spec;
    };
    HeadroomJob job = job_of(threads);
    job.part = Part::kSink;
    job.backend = end(datapath::Role::kServer, "out");
    sink = session_of(job);
    job.part = Part::kForwarder;
    job.backend = end(datapath::Role::kServer, "in");
    job.out = end(datapath::Role::kClient, "out");
    device = session_of(job);
    job.part = Part::kSender;
    job.backend = end(datapath::Role::kClient, "in");
    sender = session_of(job);
  }

  std::unique_ptr<HeadroomSession> sink;
  std::unique_ptr<HeadroomSession> device;
  std::unique_ptr<HeadroomSession> sender;
};

TEST(ForwarderPort, EveryPacketCrosses) {
  Chain chain(2);
  std::uint32_t number = 0;
  for (const std::uint32_t size : {66U, 1500U}) {
    for (const bool verify : {true, false}) {
      for (const Delay delay : {Delay::kNone, Delay::kSpacing, Delay::kSpin}) {
        ++number;
        chain.sink->obey(BeginCommand{number});
        chain.device->obey(ForwardCommand{
            {.number = number, .size = size, .threads = 2, .burst = 32, .delay = delay, .delay_ns = 5000, .verify = verify}});
        const json sent = chain.sender->obey(TrialSpec{.number = number,
                                                       .size = size,
                                                       .threads = 2,
                                                       .burst = 8,
                                                       .duration_s = 0.003,
                                                       .delay = Delay::kSchedule,
                                                       .delay_ns = 300'000});
        const json device = chain.device->obey(CollectCommand{number, sent["packets"]});
        const json counted = chain.sink->obey(CollectCommand{number, device["forwarded"]});
        EXPECT_GT(sent["packets"], 0);
        EXPECT_EQ(device["received"], sent["packets"]);
        EXPECT_EQ(device["bytes"], sent["packets"].get<std::uint64_t>() * size);
        EXPECT_EQ(device["dropped"], 0);
        EXPECT_EQ(counted["packets"], sent["packets"]);
        EXPECT_EQ(counted["number_sum"], sent["number_sum"]);
        EXPECT_EQ(device.contains("number_sum"), verify);
        if (verify) {
          EXPECT_EQ(device["numbered"], sent["packets"]);
          EXPECT_EQ(device["number_sum"], sent["number_sum"]);
        }
      }
    }
  }
  EXPECT_NE(fault_of([&] { chain.device->obey(TrialSpec{}); }).find("send a forwarder forward"), std::string::npos);
  EXPECT_NE(fault_of([&] { chain.sender->obey(ForwardCommand{}); }).find("forward is for a forwarder"), std::string::npos);
  EXPECT_NE(fault_of([&] { chain.sink->obey(ForwardCommand{}); }).find("forward is for a forwarder"), std::string::npos);
}

TEST(ForwarderPort, IsLateWhereWorkTakesLongerThanTheRateAllows) {
  Chain chain(1);
  chain.sink->obey(BeginCommand{1});
  chain.device->obey(ForwardCommand{{.number = 1, .size = 100, .burst = 8, .delay = Delay::kSpin, .delay_ns = 1e6}});
  const json sent = chain.sender->obey(
      TrialSpec{.number = 1, .size = 100, .burst = 8, .duration_s = 0.01, .delay = Delay::kSchedule, .delay_ns = 200'000});
  const json device = chain.device->obey(CollectCommand{1, sent["packets"]});
  const json counted = chain.sink->obey(CollectCommand{1, device["forwarded"]});
  EXPECT_EQ(counted["packets"], sent["packets"]) << "the ring holds what the device is late with";
  // Every 8 packets are followed by 1 ms of work. Rates come from this stretch, and not from the sender's.
  EXPECT_GE(device["elapsed_ns"].get<double>(), 0.9e6 * device["bursts"].get<double>());
  EXPECT_GE(device["bursts"].get<std::uint64_t>() * 8, sent["packets"].get<std::uint64_t>());
}

TEST(OwnSink, CountsWhatTheSameProcessSends) {
  const json job = {{"schema", "dpubench.headroom-job/1"},
                    {"cpus", {0}},
                    {"max_packet", 2000},
                    {"backend", {{"kind", "udp"}, {"arguments", {{"local", "127.0.0.1:47810"}, {"peer", "127.0.0.1:47820"}}}}},
                    {"own_sink", {{"backend", {{"kind", "udp"}, {"arguments", {{"local", "127.0.0.1:47820"}}}}}}}};
  const auto both = session_of(parse_job(job.dump()));
  both->obey(BeginCommand{3});
  const json sent = both->obey(TrialSpec{.number = 3, .size = 200, .burst = 4, .duration_s = 0.005});
  const json counted = both->obey(CollectCommand{3, sent["packets"]});
  EXPECT_GT(sent["packets"], 0);
  EXPECT_EQ(counted["packets"].get<std::uint64_t>() + counted["dropped"].get<std::uint64_t>(), sent["packets"]);
  json lost = job;
  lost["own_sink"]["network_namespace"] = "/run/netns/there-is-none";
  lost["own_sink"]["backend"]["arguments"]["local"] = "127.0.0.1:47840";
  lost["backend"]["arguments"]["local"] = "127.0.0.1:47830";
  const std::string fault = fault_of([&] { session_of(parse_job(lost.dump())); });
  EXPECT_NE(fault.find("/run/netns/there-is-none cannot be entered: No such file"), std::string::npos) << fault;
}

TEST(KernelDevice, FindsTheStretchInWhichPacketsCame) {
  const auto stretch = [](const std::vector<std::uint64_t>& received) {
    std::vector<Note> notes;
    for (const std::uint64_t packets : received) notes.push_back({notes.size() * 10, notes.size() * 100, packets});
    const Stretch found = crossing(notes);
    return std::pair(found.from, found.to);
  };
  using Pair = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(stretch({5, 5, 9, 12, 12, 15, 20, 20, 20}), Pair(2, 5)) << "whole intervals between the first packets and the last";
  EXPECT_EQ(stretch({5, 5, 5}), Pair(0, 2)) << "nothing came";
  EXPECT_EQ(stretch({5, 5, 900, 900}), Pair(1, 2)) << "the thread had no time while packets came";
  EXPECT_EQ(stretch({5, 6}), Pair(0, 1));
  EXPECT_EQ(stretch({5, 6, 7}), Pair(0, 2)) << "no whole interval between";
}

constexpr std::string_view kNetDev =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
    "    lo:  10084      99    0    0    0     0          0         0    10084      98    0    0    0     0       0          0\n"
    "  eth0:1 22 0 3 0 0 0 0 4 55 0 0 0 0 0 0\n";

TEST(KernelDevice, ReadsCounters) {
  EXPECT_EQ(counters_of(kNetDev, "lo").received, 99U);
  EXPECT_EQ(counters_of(kNetDev, "eth0").received, 22U);
  EXPECT_EQ(counters_of(kNetDev, "eth0").sent, 55U);
  EXPECT_NE(fault_of([] { counters_of(kNetDev, "eth"); }).find("the interface eth is gone"), std::string::npos);
  EXPECT_NE(fault_of([] { counters_of("  eth0: 1 2 3\n", "eth0"); }).find("eth0 is gone"), std::string::npos);
}

class KernelRoot : public testing::Test {
 protected:
  KernelRoot() {
    const auto root = folder.path();
    std::filesystem::create_directories(root / "net");
    std::filesystem::create_directories(root / "sys/net/ipv4/conf/lo");
    std::ofstream(root / "net/dev") << kNetDev;
    set_forwarding("1");
    for (BackendSpec* const side : {&job.backend, &job.out}) {
      side->kind = "kernel";
      side->arguments["interface"] = "lo";
    }
    job.cpus = {0};
  }
  void set_forwarding(const char* value) const {
    std::ofstream(folder.path() / "sys/net/ipv4/conf/lo/forwarding") << value << '\n';
  }

  dpubench::test::TemporaryDirectory folder;
  HeadroomJob job;
};

TEST_F(KernelRoot, WorksBesideAKernelThatHasNothingToDo) {
  KernelDevice device(job, folder.path());
  for (const Delay work : {Delay::kSpin, Delay::kCache}) {
    device.begin({.number = 6, .delay = work});
    EXPECT_NE(fault_of([&] { device.begin({.number = 7}); }).find("trial 6 is under way"), std::string::npos);
    const Forwarded all = device.collect(6, 0);
    EXPECT_EQ(all.received, 0U);
    EXPECT_EQ(all.dropped, 0U);
    EXPECT_GT(all.inserted_ns, 0);
    EXPECT_GT(all.elapsed_ns, 0);
    EXPECT_FALSE(all.polls.has_value());
    EXPECT_EQ(all.table_bytes > 0, work == Delay::kCache);
  }
  device.begin({.number = 8});
  EXPECT_EQ(device.collect(8, 0).inserted_ns, 0) << "only its counters are read";
  EXPECT_NE(fault_of([&] { device.collect(8, 0); }).find("trial 8 is not under way"), std::string::npos);
  EXPECT_NE(fault_of([&] { device.begin({.delay = Delay::kSpacing}); }).find("forwards packets as they come"), std::string::npos);
}

TEST_F(KernelRoot, NamesWhatIsWrongWithAnInterface) {
  const auto opened = [&] { KernelDevice device(job, folder.path()); };
  set_forwarding("0");
  EXPECT_NE(fault_of(opened).find("sysctl -w net.ipv4.conf.lo.forwarding=1"), std::string::npos);
  job.backend.arguments["interface"] = "nowhere0";
  EXPECT_NE(fault_of(opened).find("there is no interface 'nowhere0'"), std::string::npos);
  job.backend.arguments["interface"] = "../lo";
  EXPECT_NE(fault_of(opened).find("the argument 'interface' of the way in is missing"), std::string::npos);
  job.backend.arguments["interface"] = "lo";
  job.out.arguments.clear();
  EXPECT_NE(fault_of(opened).find("the argument 'interface' of the way out is missing"), std::string::npos);
}

}  // namespace
}  // namespace dpubench::headroom::test
