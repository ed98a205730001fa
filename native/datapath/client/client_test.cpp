// Tests the client against a scripted port and a scripted clock.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/byte_order.hpp"
#include "datapath/client/loop.hpp"
#include "datapath/client/scripted_port.hpp"
#include "datapath/client/trial.hpp"
#include "datapath/frame/trailer.hpp"
#include "native/expect_error.hpp"
#include "packet/frame.hpp"

namespace dpubench::datapath {
namespace {

using nlohmann::json;
using test::Act;
using test::ScriptedPort;

/// A clock that moves on by a step with each reading, and by a jump when a test says so.
struct FakeClock {
  std::uint64_t step_ns = 1000;
  std::uint64_t next_ns = 0;
  std::uint64_t jump_at_ns = ~std::uint64_t{0};
  std::uint64_t jump_ns = 0;
  std::uint64_t now_ns() {
    const std::uint64_t now = next_ns;
    next_ns += step_ns;
    if (now >= jump_at_ns) {
      next_ns += jump_ns;
      jump_at_ns = ~std::uint64_t{0};
    }
    return now;
  }
};

/// An expectation that the reply is the frame that was sent.
class Echo final : public Expectation {
 public:
  std::set<std::uint64_t> cannot_tell_when_lossy;
  bool lossy_matters = false;
  Answer judge(std::uint32_t, std::span<const std::byte> sent, std::span<const std::byte> reply, bool lossy) override {
    if (std::equal(sent.begin(), sent.end(), reply.begin(), reply.end())) return Answer::kRight;
    return lossy_matters && lossy ? Answer::kCannotTell : Answer::kWrong;
  }
  std::string explain(std::uint32_t, std::span<const std::byte>, std::span<const std::byte>) override { return "it differs"; }
  bool may_drop(std::uint32_t) const override { return drops; }
  bool drops = false;
};

class Client : public testing::Test {
 protected:
  TrafficJob job;
  TrialSpec spec;
  ScriptedPort port{test::pool()};
  Echo echo;
  EngineCatalog engines;
  std::atomic<bool> stop = false;
  std::unique_ptr<Traffic> traffic;
  std::unique_ptr<TrialRunner> runner;
  FakeClock clock;

  Client() {
    job.traffic.flows = 100;
    job.traffic.frame_sizes = {{128, 1.0}};
    spec = {.number = 7, .rate_pps = 1e6, .schedule = Schedule::kInterval, .ramp_s = 0, .duration_s = 0.01, .drain_s = 0.001};
  }
  void prepare() {
    inputs::Store store(job.inputs, job.seed);
    traffic = job.traffic.source == "capture" ? captured_traffic(job, store) : model_traffic(job, store, engines);
    runner = std::make_unique<TrialRunner>(port, *traffic, &echo, job);
  }
  json run() {
    if (runner == nullptr) prepare();
    clock.next_ns = 0;
    return runner->run(spec, stop, clock);
  }
};

TEST(ClientLoop, ReceivesReadsTheClockSendsAndThenAccounts) {
  std::string order;
  struct {
    std::string& order;
    std::uint64_t now = 0;
    std::uint64_t now_ns() {
      order += 'c';
      return now += 100'000;
    }
  } clock{order};
  struct {
    std::string& order;
    bool send(std::uint64_t now_ns) {
      order += 's';
      return now_ns < 300'000;
    }
  } sender{order};
  struct {
    std::string& order;
    void receive() { order += 'r'; }
    void account(std::uint64_t) { order += 'a'; }
  } receiver{order};
  Gaps gaps;
  const std::atomic<bool> stop = false;
  const std::uint64_t last = run_loop(clock, sender, receiver, 150'000, gaps, stop);
  // The first reading is the start. Sending ends at the second pass, and two passes drain.
  EXPECT_EQ(order,
            "c"
            "rcsa"
            "rcsa"
            "rca"
            "rca");
  EXPECT_EQ(last, 500'000U);
  EXPECT_EQ(gaps.all().size(), 4U);
}

TEST(ClientGaps, TheLongestAreKeptInOrderOfTime) {
  Gaps gaps;
  std::uint64_t now = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t length = Gaps::kLeastNs + (i * 7919 % 1000);
    gaps.see(now, now + length);
    now += length;
  }
  const auto all = gaps.all();
  ASSERT_EQ(all.size(), Gaps::kMost);
  // The lengths exceed kLeastNs by 0 ... 999. The shortest is no gap.
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_GE(all[i].length_ns, Gaps::kLeastNs + 1000 - Gaps::kMost);
    EXPECT_TRUE(i == 0 || all[i].at_ns > all[i - 1].at_ns);
  }
}

TEST_F(Client, EveryFateIsCountedToThePacket) {
  port.act = [](std::uint64_t i) {
    switch (i % 100) {
      case 10:
        return Act::kLose;
      case 20:
        return Act::kRefuse;
      case 30:
        return Act::kTwice;
      case 40:
        return Act::kLater;
      case 50:
        return Act::kCorruptTrailer;
      case 60:
        return Act::kCorruptPayload;
      default:
        return Act::kEcho;
    }
  };
  const json event = run();
  EXPECT_EQ(event["trial"], 7);
  EXPECT_EQ(event["due"], 10'000);
  EXPECT_EQ(event["offered_pps"], 1e6);
  EXPECT_EQ(event["sent"], 9'900);
  EXPECT_EQ(event["tx_full"], 100);
  EXPECT_EQ(event["received"], 9'700);
  EXPECT_EQ(event["duplicates"], 100);
  EXPECT_EQ(event["reordered"], 100);
  EXPECT_EQ(event["corrupted"], 100);
  EXPECT_EQ(event["wrong"], 100);
  EXPECT_EQ(event["stale"], 0);
  EXPECT_EQ(event["foreign"], 0);
  EXPECT_EQ(event["sent_bytes"], 9'900 * 128);
  EXPECT_EQ(event["received_bytes"], 9'700 * 128);
  EXPECT_NE(event["first_wrong"].get<std::string>().find("packet 60: it differs"), std::string::npos);
  std::uint64_t lost = 0;
  for (const json& run : event["losses"]) lost += run[2].get<std::uint64_t>();
  EXPECT_EQ(lost, 300U);
  EXPECT_EQ(event["losses"][0], json::parse("[10000,10000,1]"));
  std::uint64_t recorded = 0;
  for (const json& bucket : event["latency_ns"]["buckets"]) recorded += bucket[1].get<std::uint64_t>();
  EXPECT_EQ(recorded, 9'700U);
}

TEST_F(Client, TheRampIsSentAndNotCounted) {
  spec.ramp_s = 0.002;
  port.act = [](std::uint64_t i) { return i % 2 == 0 ? Act::kLose : Act::kEcho; };
  const json event = run();
  EXPECT_EQ(port.offered, 12'000U);
  EXPECT_EQ(event["due"], 10'000);
  EXPECT_EQ(event["sent"], 10'000);
  EXPECT_EQ(event["received"], 5'000);
  EXPECT_EQ(runner->record()->first, 2'000U);
  EXPECT_EQ(runner->record()->due, 12'000U);
  EXPECT_EQ(event["losses"][0][0], 2'000'000);
}

TEST_F(Client, WhatIsNoPacketOfTheTrialIsToldApart) {
  std::vector<std::byte> other(100);
  port.inject(other);  // nobody's addresses, no trailer
  port.inject(std::span(other).first(5));
  write_trailer(other, {6, 1, 1, 0});
  port.inject(other);  // of the trial before
  write_trailer(other, {7, 1'000'000, 1, 0});
  port.inject(other);  // a number that was never sent
  const json event = run();
  EXPECT_EQ(event["foreign"], 2);
  EXPECT_EQ(event["stale"], 2);
  EXPECT_EQ(event["received"], 10'000);
  EXPECT_EQ(event["corrupted"], 0);
}

TEST_F(Client, LatencyIsFromTheDueTime) {
  // The readings are 1 us apart, and a packet is due at each. It is sent in its pass and comes back in the next.
  const json event = run();
  EXPECT_EQ(event["lag_ns"]["max"], 1000) << "the first reading is the start";
  EXPECT_EQ(event["latency_ns"]["p50"], 2000);
  EXPECT_EQ(event["latency_ns"]["max"], 2000);
  EXPECT_EQ(event["gaps"], json::array());
}

TEST_F(Client, AStallIsAGapAndItsPacketsAreLateFromTheirDueTimes) {
  clock.jump_at_ns = 5'000'000;
  clock.jump_ns = 99'000;
  job.burst = 32;
  spec.schedule = Schedule::kConstant;
  const json event = run();
  EXPECT_EQ(event["gaps"], json::parse("[[5000000,100000]]"));
  EXPECT_EQ(event["sent"], 10'000);
  EXPECT_EQ(event["received"], 10'000);
  EXPECT_EQ(event["lag_ns"]["max"], 99'000);
  // There is no coordinated omission: packets that were due in the gap waited for its end.
  EXPECT_GE(event["latency_ns"]["max"].get<std::uint64_t>(), 100'000U);
}

TEST_F(Client, WhatTheClientIsTooLateForIsDueAndNotSent) {
  clock.step_ns = 3000;  // one packet a reading: a third of the rate
  const json event = run();
  EXPECT_EQ(event["due"], 10'000);
  EXPECT_LT(event["sent"], 7'000);
  EXPECT_EQ(event["tx_full"], 0);
  EXPECT_EQ(event["received"], event["sent"]);
  EXPECT_EQ(event["losses"].back()[1], 9'999'000);
}

TEST_F(Client, AFloodIsWhatThePortTakes) {
  spec.schedule = Schedule::kFlood;
  port.act = [](std::uint64_t i) { return i % 5 == 4 ? Act::kRefuse : Act::kEcho; };
  const json event = run();
  EXPECT_GT(event["sent"], 1000);
  EXPECT_EQ(event["due"], event["sent"]);
  EXPECT_EQ(event["tx_full"], 0);
  EXPECT_EQ(event["received"], event["sent"]);
  EXPECT_EQ(event["wrong"], 0) << event["first_wrong"];
  EXPECT_FALSE(event.contains("latency_ns"));
  EXPECT_FALSE(event.contains("lag_ns"));
}

TEST_F(Client, SampledVerificationComparesOneInSixteen) {
  job.verify_all = false;
  port.act = [](std::uint64_t) { return Act::kCorruptPayload; };
  const json event = run();
  EXPECT_EQ(event["received"], 10'000);
  EXPECT_EQ(event["wrong"], 625);
}

TEST_F(Client, WrongAnswersOfFlowsWithLossesMayBeUndecided) {
  echo.lossy_matters = true;
  job.traffic.flows = 1;
  port.act = [](std::uint64_t i) { return i == 100 ? Act::kLose : i == 50 || i == 200 ? Act::kCorruptPayload : Act::kEcho; };
  const json event = run();
  EXPECT_EQ(event["wrong"], 1) << "packet 50 came before anything was lost";
  EXPECT_EQ(event["undecided"], 1);
}

TEST_F(Client, WrongAnswersOfFlowsThatMayHaveBegunWithinAMessageAreUndecided) {
  echo.lossy_matters = true;
  job.traffic.protocol = "tcp";
  job.traffic.segments = 2;
  job.traffic.flows = 1;
  job.traffic.churn_per_s = 200;  // a new flow after 5 ms
  port.act = [](std::uint64_t i) { return i == 100 || i == 9'000 ? Act::kCorruptPayload : Act::kEcho; };
  const json event = run();
  EXPECT_EQ(event["wrong"], 1) << "packet 100 is of the first flow";
  EXPECT_EQ(event["undecided"], 1);
}

TEST_F(Client, PacketsThatMayBeDroppedAreExcused) {
  echo.drops = true;
  port.act = [](std::uint64_t i) { return i < 10 ? Act::kLose : Act::kEcho; };
  const json event = run();
  EXPECT_EQ(event["excused"], 10);
  EXPECT_EQ(event["losses"], json::array());
}

TEST_F(Client, ATrialBeginsAnew) {
  port.act = [](std::uint64_t) { return Act::kLater; };
  run();
  port.act = [](std::uint64_t) { return Act::kEcho; };
  spec.number = 8;
  const json event = run();
  EXPECT_EQ(event["received"], 10'000);
  EXPECT_EQ(event["stale"], 1) << "the packet that the first trial's link held back";
}

TEST_F(Client, StopEndsATrial) {
  stop = true;
  EXPECT_EQ(run()["sent"], 0);
}

TEST_F(Client, TrialsThatTheTrafficDoesNotHaveAreRefused) {
  spec.schedule = Schedule::kRecorded;
  dpubench::test::expect_error([&] { run(); }, {"capture"});
  job.traffic.churn_per_s = 10;
  runner.reset();
  spec.schedule = Schedule::kFlood;
  dpubench::test::expect_error([&] { run(); }, {"churn_per_s"});
}

// Frames.

struct ModelCase {
  const char* protocol;
  std::uint32_t version;
  std::uint32_t size;
  std::uint32_t flows = 100;
  double churn_per_s = 1e5;
};
class ClientFrames : public Client, public testing::WithParamInterface<ModelCase> {};
INSTANTIATE_TEST_SUITE_P(Models, ClientFrames,
                         testing::Values(ModelCase{"udp", 4, 64}, ModelCase{"udp", 4, 1518}, ModelCase{"tcp", 4, 128},
                                         ModelCase{"udp", 6, 128}, ModelCase{"tcp", 6, 9018}, ModelCase{"udp", 4, 64, 1, 0},
                                         ModelCase{"udp", 6, 1518, 1, 0}, ModelCase{"tcp", 4, 128, 1, 0},
                                         ModelCase{"udp", 4, 128, 1, 1e5}));

TEST_P(ClientFrames, EveryFrameIsWholeAndOfItsFlow) {
  const ModelCase& with = GetParam();
  job.traffic.protocol = with.protocol;
  job.traffic.version = with.version;
  job.traffic.frame_sizes = {{with.size, 1.0}};
  job.traffic.flows = with.flows;
  job.traffic.churn_per_s = with.churn_per_s;
  spec.duration_s = 0.003;
  port.keep = true;
  const json event = run();
  EXPECT_EQ(event["received"], 3000);
  EXPECT_EQ(event["wrong"], 0) << event["first_wrong"];
  Cursor cursor(*traffic);
  ASSERT_EQ(port.frames.size(), 3000U);
  std::set<std::uint32_t> flows;
  for (std::size_t i = 0; i < port.frames.size(); ++i) {
    const std::vector<std::byte>& frame = port.frames[i];
    ASSERT_EQ(frame.size() + kFcsBytes, with.size);
    const packet::Parsed parsed = packet::parse(frame);
    ASSERT_EQ(parsed.kind, packet::Kind::kTransport);
    ASSERT_TRUE(packet::ip_checksum_valid(frame, parsed)) << i;
    ASSERT_TRUE(packet::transport_checksum_valid(frame, parsed)) << i;
    const auto trailer = read_trailer(frame);
    ASSERT_TRUE(trailer);
    ASSERT_EQ(trailer->number, i);
    ASSERT_LE(parsed.end + trailer_bytes(static_cast<std::uint32_t>(frame.size())), frame.size());
    const PacketRef packet = cursor.next(trailer->due_ns);
    flows.insert(packet.flow);
    const inputs::Flow tuple = traffic->space.tuple(packet.flow, static_cast<std::uint8_t>(with.version), parsed.protocol);
    const std::size_t bytes = with.version == 4 ? 4 : 16;
    const std::size_t at = with.version == 4 ? 26 : 22;
    ASSERT_EQ(std::memcmp(frame.data() + at, tuple.source.data(), bytes), 0);
    ASSERT_EQ(std::memcmp(frame.data() + at + bytes, tuple.destination.data(), bytes), 0);
    ASSERT_EQ(std::to_integer<unsigned>(frame[parsed.transport + 3U]), tuple.destination_port & 0xffU);
  }
  if (with.churn_per_s > 0) {
    EXPECT_GT(flows.size(), with.flows + 10U) << "some of the 300 that churn brings forth";
  } else {
    EXPECT_EQ(flows.size(), with.flows);
  }
}

TEST_P(ClientFrames, TheSameSeedSendsTheSame) {
  const ModelCase& with = GetParam();
  job.traffic.protocol = with.protocol;
  job.traffic.version = with.version;
  job.traffic.frame_sizes = {{with.size, 1.0}, {9000, 0.5}};
  spec.duration_s = 0.001;
  spec.schedule = Schedule::kPoisson;
  job.burst = 4;
  port.keep = true;
  run();
  const auto first = std::exchange(port.frames, {});
  runner.reset();
  run();
  EXPECT_EQ(port.frames, first);
  port.frames.clear();
  runner.reset();
  ++job.seed;
  run();
  EXPECT_NE(port.frames, first);
}

TEST_F(Client, EveryBufferHoldsItsTemplateUntilThePoolIsEmpty) {
  job.traffic.frame_sizes = {{128, 1.0}, {1500, 1.0}};
  prepare();
  ASSERT_TRUE(traffic->templates.size() > 1 && traffic->templates.size() <= Writer::kMostPools);
  Writer writer(*traffic, false, job.memory.mb);
  std::vector<std::byte> expected(traffic->max_frame);
  for (const std::uint32_t trial : {7U, 8U}) {
    writer.begin(trial);
    Cursor cursor(*traffic);
    std::vector<rte_mbuf*> held;
    std::array<rte_mbuf*, kMaxPacketBurst> packets{};
    std::array<std::uint16_t, kMaxPacketBurst> bytes{};
    const std::array<std::uint64_t, kMaxPacketBurst> due{};
    std::uint32_t filled = kMaxPacketBurst;
    while (filled == kMaxPacketBurst) {
      filled = writer.fill(kMaxPacketBurst, due.data(), packets.data(), bytes.data());
      for (std::uint32_t i = 0; i < filled; ++i) {
        const PacketRef packet = cursor.next(0);
        const Shape& shape = traffic->shapes[packet.index];
        std::memcpy(expected.data(), shape.bytes, shape.length);
        traffic->write_headers(packet, expected.data());
        write_trailer({expected.data(), shape.length},
                      {.trial = static_cast<std::uint16_t>(trial), .number = held.size(), .frame = packet.index});
        const auto* const frame = rte_pktmbuf_mtod(packets[i], const std::byte*);
        ASSERT_EQ(packets[i]->data_len, shape.length);
        ASSERT_EQ(bytes[i], shape.length + kFcsBytes);
        ASSERT_TRUE(std::equal(frame, frame + shape.length, expected.begin())) << "packet " << held.size();
        held.push_back(packets[i]);
        ASSERT_LT(held.size(), 1U << 20U);
      }
    }
    EXPECT_GT(held.size(), kMaxPacketBurst);
    EXPECT_EQ(std::set<rte_mbuf*>(held.begin(), held.end()).size(), held.size());
    rte_pktmbuf_free_bulk(held.data(), static_cast<unsigned>(held.size()));
  }
}

TEST_F(Client, SizesHaveTheirShares) {
  job.traffic.frame_sizes = {{64, 7}, {594, 4}, {1518, 1}};
  spec.duration_s = 0.12;
  port.keep = true;
  run();
  std::map<std::size_t, double> counts;
  for (const auto& frame : port.frames) ++counts[frame.size() + kFcsBytes];
  const auto total = static_cast<double>(port.frames.size());
  EXPECT_NEAR(counts[64] / total, 7.0 / 12, 0.001);
  EXPECT_NEAR(counts[594] / total, 4.0 / 12, 0.001);
  EXPECT_NEAR(counts[1518] / total, 1.0 / 12, 0.001);
}

TEST_F(Client, FramesThatAreTooShortAreRefusedWithTheLeast) {
  const auto refused = [&](const char* protocol, std::uint32_t version, std::uint32_t size, const char* least) {
    job.traffic.protocol = protocol;
    job.traffic.version = version;
    job.traffic.frame_sizes = {{size, 1.0}};
    dpubench::test::expect_error([&] { prepare(); }, {least});
  };
  refused("tcp", 4, 64, "the smallest frame is 82 B");
  refused("udp", 6, 89, "the smallest frame is 90 B");
  refused("tcp", 6, 100, "the smallest frame is 102 B");
  job.traffic.frame_sizes = {{102, 1.0}};
  EXPECT_NO_THROW(prepare());
}

TEST_F(Client, SegmentsOfAMessageGoOutOfOrderAndStreamsHaveNoHoles) {
  job.traffic.protocol = "tcp";
  job.traffic.segments = 5;
  job.traffic.flows = 3;
  job.traffic.frame_sizes = {{182, 1.0}};  // 100 B of payload
  port.keep = true;
  run();
  std::map<std::uint32_t, std::vector<std::uint32_t>> streams;
  for (const auto& frame : port.frames) {
    const packet::Parsed parsed = packet::parse(frame);
    std::uint32_t source;
    std::uint32_t sequence;
    std::memcpy(&source, frame.data() + 26, 4);
    std::memcpy(&sequence, frame.data() + parsed.transport + 4, 4);
    streams[source].push_back(__builtin_bswap32(sequence));
    EXPECT_EQ(parsed.end - parsed.payload, 100);
  }
  EXPECT_EQ(streams.size(), 3U);
  for (auto& [source, sequences] : streams) {
    const std::uint32_t start = sequences[0];
    for (std::uint32_t& at : sequences) at -= start;
    EXPECT_FALSE(std::is_sorted(sequences.begin(), sequences.end()));
    sequences.resize(sequences.size() / 5 * 5);
    std::sort(sequences.begin(), sequences.end());
    for (std::size_t i = 0; i < sequences.size(); ++i) ASSERT_EQ(sequences[i], 100 * i);
  }
  job.traffic.protocol = "udp";
  dpubench::test::expect_error([&] { prepare(); }, {"set protocol to tcp"});
}

/// A stream as a receiver sees it: its bytes, and how its segments relate to the segments before them.
struct Stream {
  std::vector<int> bytes;  ///< by distance from the first segment's first byte; -1: missing
  std::uint32_t start = 0;
  std::uint64_t segments = 0;
  std::uint64_t repeated = 0;  ///< segments that begin where another one began
  std::uint64_t out_of_order = 0;
  std::set<std::uint32_t> begins;
};

/// Put a segment into its stream. @return whether bytes that came before are the same
bool put(Stream& stream, std::span<const std::byte> frame) {
  const packet::Parsed parsed = packet::parse(frame);
  const std::uint32_t sequence = wire::be32(frame, parsed.transport + 4U);
  if (stream.segments++ == 0) stream.start = sequence;
  const std::uint32_t at = sequence - stream.start;
  if (!stream.begins.insert(at).second) ++stream.repeated;
  if (at < stream.bytes.size()) ++stream.out_of_order;
  stream.bytes.resize(std::max<std::size_t>(stream.bytes.size(), at + std::size_t{parsed.end} - parsed.payload), -1);
  bool same = true;
  for (std::uint32_t i = parsed.payload; i < parsed.end; ++i) {
    int& byte = stream.bytes[at + i - parsed.payload];
    same &= byte == -1 || byte == std::to_integer<int>(frame[i]);
    byte = std::to_integer<int>(frame[i]);
  }
  return same;
}

struct ShareCase {
  std::uint32_t segments;
  double retransmit;
  double overlap;
};
class ClientSegments : public Client, public testing::WithParamInterface<ShareCase> {};
INSTANTIATE_TEST_SUITE_P(Shares, ClientSegments,
                         testing::Values(ShareCase{4, 0.25, 0}, ShareCase{4, 0, 0.25}, ShareCase{5, 0.1, 0.3},
                                         ShareCase{16, 0.2, 0.2}, ShareCase{2, 0.5, 0}, ShareCase{2, 0, 0.5},
                                         ShareCase{64, 0.5, 0.25}));

TEST_P(ClientSegments, RepeatedBytesAreTheSameStreamsHaveNoHolesAndSharesHold) {
  const ShareCase& with = GetParam();
  job.traffic.protocol = "tcp";
  job.traffic.segments = with.segments;
  job.traffic.retransmit_share = with.retransmit;
  job.traffic.overlap_share = with.overlap;
  job.traffic.flows = 50;
  job.traffic.popularity = "uniform";
  job.traffic.frame_sizes = {{182, 1.0}};  // 100 B of payload
  inputs::Store store(job.inputs, job.seed);
  traffic = model_traffic(job, store, engines);
  std::map<std::uint32_t, Stream> streams;
  std::vector<std::byte> frame(traffic->max_frame);
  Cursor cursor(*traffic);
  const std::uint64_t packets = traffic->cycle() * with.segments;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(packets, 60'000); ++i) {
    const PacketRef packet = cursor.next(0);
    const Shape& shape = traffic->shapes[packet.index];
    std::memcpy(frame.data(), shape.bytes, shape.length);
    traffic->write_headers(packet, frame.data());
    const std::span<const std::byte> sent(frame.data(), shape.length);
    ASSERT_TRUE(packet::transport_checksum_valid(sent, packet::parse(sent)));
    ASSERT_TRUE(put(streams[packet.flow], sent)) << "packet " << i;
  }
  double segments = 0;
  double repeated = 0;
  double bytes = 0;
  double out_of_order = 0;
  for (const auto& [flow, stream] : streams) {
    segments += static_cast<double>(stream.segments);
    repeated += static_cast<double>(stream.repeated);
    const auto missing = static_cast<std::size_t>(std::count(stream.bytes.begin(), stream.bytes.end(), -1));
    bytes += static_cast<double>(stream.bytes.size() - missing);
    out_of_order += static_cast<double>(stream.out_of_order);
    // The last message may be cut off. Before it nothing is missing.
    EXPECT_LT(missing, 100 * with.segments) << flow;
  }
  EXPECT_NEAR(repeated / segments, with.retransmit, 0.01);
  // An overlap takes 50 of 100 bytes on average.
  EXPECT_NEAR(1 - bytes / (100 * segments), with.retransmit + with.overlap / 2, with.overlap > 0 ? 0.08 : 0.005);
  EXPECT_EQ(out_of_order > 0, with.segments > 2 || with.retransmit > 0 || with.overlap > 0);
}

TEST_F(Client, SharesOfSegmentsThatCannotBeAreRefused) {
  const auto refused = [&](std::uint32_t segments, double retransmit, double overlap, std::initializer_list<const char*> words) {
    job.traffic.protocol = "tcp";
    job.traffic.segments = segments;
    job.traffic.retransmit_share = retransmit;
    job.traffic.overlap_share = overlap;
    job.traffic.frame_sizes = {{182, 1.0}};
    for (const char* word : words) dpubench::test::expect_error([&] { prepare(); }, {word});
  };
  refused(1, 0.1, 0, {"traffic/retransmit_share", "set segments"});
  refused(1, 0, 0.1, {"traffic/overlap_share", "set segments"});
  refused(3, 0.5, 0, {"traffic/retransmit_share", "of 3 segments", "up to 2 would repeat another one", "raise segments"});
  refused(2, 0.1, 0.1, {"traffic/overlap_share", "up to 2 would repeat or overlap another one"});
  job.traffic.retransmit_share = 0;
  job.traffic.frame_sizes = {{83, 1.0}};  // a byte of payload
  dpubench::test::expect_error([&] { prepare(); }, {"the smallest frame is 84 B"});
}

}  // namespace
}  // namespace dpubench::datapath
