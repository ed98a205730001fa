#include "packet/reassembly.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/reassembly_oracle.hpp"
#include "inputs/random.hpp"
#include "native/expect_error.hpp"

namespace dpubench::packet {
namespace {

constexpr Reassembly::Limits kSmall = {.flows = 3, .stretch_bytes = 128, .overlap_bytes = 8};

FlowKey key(unsigned number) {
  FlowKey k;
  k.bytes[0] = static_cast<std::byte>(number);
  return k;
}

std::string text_of(const Window& window) {
  return {reinterpret_cast<const char*>(window.data), window.bytes};
}

/// One flow, fed with text.
class Feeder {
 public:
  explicit Feeder(std::uint32_t start, const Reassembly::Limits& limits = kSmall) : reassembly_(limits), start_(start) {}
  /// Add text at this offset and return the text to search.
  std::string at(std::uint32_t offset, std::string_view text, bool hit = false) {
    const Window window =
        reassembly_.add(reassembly_.find(key(1)), {.sequence = start_ + offset, .payload = std::as_bytes(std::span(text))});
    const std::string found = text_of(window);
    if (hit) reassembly_.spend(window);
    return found;
  }
  [[nodiscard]] const Reassembly::Counters& counters() const { return reassembly_.counters(); }

 private:
  Reassembly reassembly_;
  std::uint32_t start_;
};

TEST(Reassembly, YieldsTheTextAroundWhatIsNew) {
  for (const std::uint32_t start : {0U, 1'000'000U, 0xfffffff5U, 0x7ffffffaU}) {
    Feeder flow(start);
    EXPECT_EQ(flow.at(0, "0123456789"), "0123456789");
    EXPECT_EQ(flow.at(10, "abcdefghij"), "23456789abcdefghij");  // 8 bytes of what came before
    EXPECT_EQ(flow.at(30, "ABCDEFGHIJ"), "ABCDEFGHIJ");          // a gap
    EXPECT_EQ(flow.at(20, "klmnopqrst"), "cdefghijklmnopqrstABCDEFGH");
    EXPECT_EQ(flow.at(0, "XXXXXXXXXXXXXXXXXXXX"), "");  // all of it came before
    EXPECT_EQ(flow.counters().repeated, 1U);
    EXPECT_EQ(flow.counters().out_of_order, 2U);
  }
}

TEST(Reassembly, TheFirstCopyOfAByteIsKept) {
  Feeder flow(50);
  EXPECT_EQ(flow.at(4, "efgh"), "efgh");
  EXPECT_EQ(flow.at(0, "ABCDEFGHIJKL"), "ABCDefghIJKL");
  EXPECT_EQ(flow.at(2, "..........mn"), "efghIJKLmn");
}

TEST(Reassembly, WhatWasFoundIsNotSearchedAgain) {
  Feeder flow(0);
  EXPECT_EQ(flow.at(0, "signature", true), "signature");
  EXPECT_EQ(flow.at(9, "more"), "more");
  EXPECT_EQ(flow.at(13, "text", true), "moretext");
  EXPECT_EQ(flow.at(30, "z", true), "z");
  // There are new bytes on both sides of the match: all of it is searched again.
  EXPECT_EQ(flow.at(17, "0123456789abcdefghij"), "0123456789abczefghij");
}

TEST(Reassembly, AConnectionBeginsWithItsSyn) {
  Reassembly r(kSmall);
  const std::uint32_t flow = r.find(key(1));
  const auto add = [&](std::uint32_t sequence, bool syn, bool rst, std::string_view text) {
    return text_of(r.add(flow, {sequence, syn, rst, std::as_bytes(std::span(text))}));
  };
  EXPECT_EQ(add(99, true, false, ""), "");
  EXPECT_EQ(r.floor(flow), 100U);
  EXPECT_EQ(add(100, false, false, "abc"), "abc");
  EXPECT_EQ(add(99, true, false, ""), "");  // retransmitted
  EXPECT_EQ(add(100, false, false, "abc"), "");
  EXPECT_EQ(add(90, false, false, "0123456789AB"), "");  // reaches into the stretch, but brings nothing new
  EXPECT_EQ(add(90, false, false, "0123456789"), "");
  EXPECT_EQ(r.counters().old, 1U);
  EXPECT_EQ(add(5000, true, false, "new"), "new");  // another connection, data with its SYN
  EXPECT_EQ(add(5004, false, false, "er"), "newer");
  EXPECT_EQ(add(0, false, true, ""), "");
  EXPECT_EQ(add(5001, false, false, "new"), "new");  // forgotten with the reset
}

TEST(Reassembly, MemoryIsBounded) {
  Feeder flow(0);
  const std::string text(1000, 'x');
  for (std::uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(flow.at(10 * i, std::string_view(text).substr(0, 10)).size(), i == 0 ? 10U : 18U);
  EXPECT_EQ(flow.at(0, "0123456789"), "");
  EXPECT_EQ(flow.counters().old, 1U);
  EXPECT_GT(flow.counters().forgotten_bytes, 800U);
  EXPECT_EQ(flow.at(2000, std::string_view(text).substr(0, 121)), "");
  EXPECT_EQ(flow.counters().too_long, 1U);
  EXPECT_EQ(flow.at(2000, std::string_view(text).substr(0, 120)).size(), 120U);
}

TEST(Reassembly, TheFlowThatWasIdleForLongestIsEvicted) {
  Reassembly r(kSmall);
  const auto add = [&](unsigned k, std::uint32_t sequence, std::string_view text) {
    return text_of(r.add(r.find(key(k)), {.sequence = sequence, .payload = std::as_bytes(std::span(text))}));
  };
  for (const unsigned k : {1U, 2U, 3U}) EXPECT_EQ(add(k, 0, "abc"), "abc");
  EXPECT_EQ(add(1, 3, "d"), "abcd");
  EXPECT_EQ(r.counters().evicted, 0U);
  EXPECT_EQ(add(4, 0, "abc"), "abc");  // in place of 2
  EXPECT_EQ(r.counters().evicted, 1U);
  EXPECT_EQ(add(1, 4, "e"), "abcde");
  EXPECT_EQ(add(3, 3, "d"), "abcd");
  EXPECT_EQ(add(2, 0, "abc"), "abc");
  EXPECT_EQ(r.live_flows(), 3U);
  r.clear();
  EXPECT_EQ(r.live_flows(), 0U);
  EXPECT_EQ(add(1, 0, "abc"), "abc");
}

TEST(Reassembly, RefusesLimitsThatContradictEachOther) {
  test::expect_error([] { Reassembly r({.flows = 0, .stretch_bytes = 128, .overlap_bytes = 8}); }, {"0 flows"});
  test::expect_error([] { Reassembly r({.flows = 1, .stretch_bytes = 128, .overlap_bytes = 33}); },
                     {"overlap of 33", "a quarter"});
}

TEST(Reassembly, DoesWhatAMapFromByteToContentDoes) {
  inputs::Random random(5);
  for (int run = 0; run < 40; ++run) {
    test::ReassemblyModel model(kSmall);
    const auto near = static_cast<std::uint32_t>(random.next());
    for (int i = 0; i < 2000; ++i) {
      test::ReassemblyStep step;
      step.key = static_cast<std::uint8_t>(random.below(4));
      step.sequence = near + static_cast<std::uint32_t>(random.below(i % 100 == 0 ? 100'000 : 300));
      step.bytes = static_cast<std::uint32_t>(random.below(run % 2 == 0 ? 6 : 125));
      step.syn = random.below(200) == 0;
      step.rst = random.below(200) == 0;
      step.hit = random.below(4) == 0;
      ASSERT_EQ(model.apply(step), "") << "run " << run << ", step " << i;
    }
  }
}

/// Return the hash that was used until packets could be made for it. It has no secret in it.
std::uint64_t public_hash(const FlowKey& key) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < key.bytes.size(); i += sizeof hash) {
    std::uint64_t word;
    std::memcpy(&word, key.bytes.data() + i, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
  }
  return hash;
}

TEST(Reassembly, FlowsThatAreMadeToCollideDoNot) {
  constexpr std::uint32_t kFlows = 512;
  Reassembly reassembly({.flows = kFlows, .stretch_bytes = 128, .overlap_bytes = 8});
  FlowKey crafted;
  for (std::uint64_t made = 0, tried = 0; made < kFlows; ++tried) {
    std::memcpy(crafted.bytes.data(), &tried, sizeof tried);
    if (public_hash(crafted) % (2 * kFlows) != 0) continue;
    reassembly.find(crafted);
    ++made;
  }
  ASSERT_EQ(reassembly.live_flows(), kFlows);
  // With 512 balls in 1,024 boxes, more than a dozen share one in less than one of 10^10 cases.
  EXPECT_LE(reassembly.longest_bucket(), 12U);
}

}  // namespace
}  // namespace dpubench::packet
