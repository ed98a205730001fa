// Tests of ip_fragment and of the mbuf engines that it shares with tcp_segment: check() finds every changed bit, datagrams that
// must not be fragmented are rejected, and chains of mbufs live until they are read.

#include <gtest/gtest.h>

#include "operators/buffers.hpp"
#include "operators/driver.hpp"
#include "operators/ip_fragment/packet.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/support/testing/tampering.hpp"

namespace dpubench {
namespace {

TEST(IpFragment, CheckFindsTampering) {
  for (const char* version : {"4", "6"}) {
    for (const char* variant : {"copy", "zero_copy"}) {
      test::expect_tampering_found("ip_fragment", {{"ip_version", version}, {"variant", variant}, {"size", "4001"}});
    }
  }
}

TEST(IpFragment, OnlyCopiesHaveARateOfBytes) {
  const Operator* const op = find_operator("ip_fragment");
  ASSERT_NE(op, nullptr);
  Work work;
  const Operator::WindowTotals totals{.operations = 2, .in_bytes = 2000, .out_bytes = 2100, .result_sum = 4};
  work.params = op->complete({{"variant", "copy"}});
  EXPECT_EQ(op->rate_bytes(work, totals), 2000U);
  work.params = op->complete({{"variant", "zero_copy"}});
  EXPECT_EQ(op->rate_bytes(work, totals), 0U);
}

TEST(Dividing, EnginesThatMeetEndInOneForm) {
  // A conversion that only one of two engines needs is no part of the operation. So engines that are compared all write records,
  // or all make mbufs.
  for (const char* name : {"ip_fragment", "tcp_segment"}) {
    for (const EngineSlot* slot : test::engines().of(*find_operator(name))) {
      if (!slot->reason.empty()) continue;
      const auto does = [&](const char* variant) {
        return slot->engine->unsupported(find_operator(name)->complete({{"variant", variant}})).empty();
      };
      EXPECT_EQ(does("copy"), does("zero_copy")) << name << ' ' << slot->name;
      EXPECT_NE(does("copy"), does("mbuf")) << name << ' ' << slot->name;
    }
  }
}

/// Go round a ring again and again, as a window does, and check all of its outputs at the end.
void expect_right_after_many_rounds(const Operator& op, const Engine& engine, const Params& given, std::size_t bursts) {
  SCOPED_TRACE(engine.info().name + ' ' + given.str());
  inputs::Store store({}, 5);
  const Params params = op.complete(given);
  const std::unique_ptr<Work> work = op.prepare(params, store, {24});
  work->params = params;
  const std::unique_ptr<Session> session = engine.prepare(*work);
  BufferSet buffers(*work, 64, 8, 0);
  const std::unique_ptr<Lane> lane = session->open();
  lane->attach(buffers.memory());
  LaneStepper stepper(*lane, buffers);
  for (int window = 0; window < 3; ++window) {
    stepper.step(bursts);
    stepper.finish();
    ASSERT_EQ(stepper.take_touched(), bursts);
    for (std::size_t i = 0; i < std::min(buffers.size(), bursts * 8); ++i) {
      const std::size_t buffer = (stepper.next() * 8 + buffers.size() - 1 - i) % buffers.size();
      ASSERT_EQ(op.check(*work, buffers.item_of(buffer), buffers.output(buffer), nullptr), "") << "buffer " << buffer;
    }
    for (std::size_t b = 0; b < buffers.bursts().size(); ++b) buffers.poison(b);
  }
}

TEST(Dividing, ChainsOfMbufsAreThereUntilTheyAreRead) {
  for (const char* name : {"ip_fragment", "tcp_segment"}) {
    const Operator& op = *find_operator(name);
    for (const EngineSlot* slot : test::engines().of(op)) {
      for (const char* version : {"4", "6"}) {
        const Params params{{"variant", "mbuf"}, {"ip_version", version}, {"size", "8000"}};
        if (!slot->reason.empty() || !slot->engine->unsupported(op.complete(params)).empty()) continue;
        for (const std::size_t bursts : {5U, 9U, 300U}) expect_right_after_many_rounds(op, *slot->engine, params, bursts);
      }
    }
  }
}

TEST(IpFragment, LayoutCountsAndRejects) {
  std::vector<std::byte> packet(1020);
  packet[0] = std::byte{0x45};
  packet[2] = std::byte{0x03};
  packet[3] = std::byte{0xfc};
  const auto packets = [&](std::size_t mtu) { return ip_fragment::layout(true, mtu, packet.data(), packet.size()).packets; };
  EXPECT_EQ(packets(1020), 1U);
  EXPECT_EQ(packets(1019), 2U);
  EXPECT_EQ(packets(519), 3U) << "496 + 496 + 8";
  EXPECT_EQ(packets(28), 125U);
  EXPECT_EQ(packets(27), 0U) << "no room for one unit";
  packet[6] = std::byte{0x40};
  EXPECT_EQ(packets(1020), 1U) << "DF, fits";
  EXPECT_EQ(packets(1019), 0U) << "DF, too long";
  packet[6] = std::byte{0};
  packet[3] = std::byte{0xfd};
  EXPECT_EQ(packets(1500), 0U) << "not the length that its header says";
}

}  // namespace
}  // namespace dpubench
