#include <algorithm>
#include <filesystem>
#include <numeric>

#include "datapath/workloads/application-recognition/bench_of_packets.hpp"
#include "inputs/digest.hpp"
#include "native/expect_error.hpp"
#include "operators/support/codecs/deflate_format.hpp"

namespace dpubench::datapath::recognition {
namespace {

using namespace test;
using dpubench::test::ipv4;
using dpubench::test::ipv6;

const std::string kDull = "nothing of interest here, nothing of interest here, nothing of interest here, nothing of interest";

Frame swapped(Frame frame) {
  std::swap_ranges(frame.begin(), frame.begin() + 6, frame.begin() + 6);
  return frame;
}

void expect_headers(const Frame& sent, const Frame& reply, std::size_t payload_bytes) {
  const packet::Parsed before = packet::parse(sent);
  const packet::Parsed after = packet::parse(reply);
  ASSERT_EQ(static_cast<int>(after.kind), static_cast<int>(packet::Kind::kTransport));
  EXPECT_EQ(after.payload, before.payload);
  EXPECT_EQ(after.end - after.payload, payload_bytes);
  EXPECT_TRUE(packet::ip_checksum_valid(reply, after));
  EXPECT_TRUE(packet::transport_checksum_valid(reply, after));
  const auto trailer = read_trailer(reply);
  ASSERT_TRUE(trailer);
  EXPECT_EQ(reply.size(), after.end + trailer_bytes(static_cast<std::uint32_t>(reply.size())));
  EXPECT_EQ(trailer->number, read_trailer(sent)->number);
  EXPECT_EQ(trailer->due_ns, read_trailer(sent)->due_ns);
  EXPECT_EQ(trailer->frame, read_trailer(sent)->frame);
}

TEST(Recognition, TheRuleDecidesWhatComesBack) {
  Bench bench;
  const auto pipeline = bench.open({});
  Core core(*pipeline);
  // Echo: no rule matches, or a rule of class echo does.
  for (const std::string& text : {kDull, std::string("please leave-it-alone"), std::string("alpha\nomega")}) {
    const Frame sent = udp_frame(text);
    const Served served = core.serve_one(sent);
    EXPECT_EQ(served.fate, Fate::kForward);
    EXPECT_EQ(served.frame, swapped(sent));
  }
  // Hash: the test computes the digest of all bytes that were sent, except the trailer.
  Frame sent = udp_frame("xx HASH-ME7 xx");
  Served served = core.serve_one(sent);
  Frame want = swapped(Frame(sent.begin(), sent.begin() + 42));
  const auto digest = inputs::Sha256::of(std::span(sent).first(56));
  want.insert(want.end(), digest.begin(), digest.end());
  want[17] = std::byte{20 + 8 + 32};
  want[39] = std::byte{8 + 32};
  const packet::Parsed whole = packet::parse(want);
  ASSERT_EQ(whole.end, 74);
  packet::set_checksums(want, whole);
  ASSERT_EQ(served.frame.size(), 74U + kTrailerBytes);
  EXPECT_EQ(Frame(served.frame.begin(), served.frame.begin() + 74), want);
  expect_headers(sent, served.frame, 32);
  // Compress: the reply decompresses to the payload.
  const std::string text = kDull + " PressMeFlat " + kDull;
  sent = framed(ipv6(6, tcp(text)), 9, 4, "8100 0005 86dd");
  served = core.serve_one(sent);
  const packet::Parsed parsed = packet::parse(served.frame);
  EXPECT_LT(served.frame.size(), sent.size());
  expect_headers(sent, served.frame, std::size_t{parsed.end} - parsed.payload);
  Frame plain(text.size());
  const auto bytes = deflate::Decompressor().decompress(
      std::span(served.frame).subspan(parsed.payload, std::size_t{parsed.end} - parsed.payload), plain);
  EXPECT_EQ(bytes, text.size());
  EXPECT_EQ(plain, bytes_of(text));
  // This payload is too short to gain.
  sent = udp_frame("squeeze!");
  EXPECT_EQ(core.serve_one(sent).frame, swapped(sent));
  // The first rule of the set decides.
  EXPECT_EQ(class_of_reply(udp_frame("fingerprint HASH-ME1"), core.serve_one(udp_frame("fingerprint HASH-ME1"))), Class::kHash);
  sent = udp_frame("HASH-ME1 leave-it-alone");
  EXPECT_EQ(core.serve_one(sent).frame, swapped(sent));
  const nlohmann::json counted = core.collect();
  EXPECT_EQ(counted["classes"], (nlohmann::json{{"echo", 4}, {"hash", 2}, {"compress", 2}}));
  EXPECT_EQ(counted["searched"], 8);
  EXPECT_EQ(counted["hash"], (nlohmann::json{{"answered", 2}, {"unchanged", 0}}));
  EXPECT_EQ(counted["compress"], (nlohmann::json{{"answered", 1}, {"unchanged", 1}}));
}

TEST(Recognition, ACompactTrailerGrowsWithItsFrame) {
  Bench bench;
  const auto pipeline = bench.open({});
  const Frame sent = udp_frame("");
  ASSERT_EQ(sent.size(), 60U);
  Frame small = framed(ipv4(17, udp("x")));
  ASSERT_EQ(small.size(), 61U);  // 43 bytes and the compact form
  Bench one("1:/never-there/\n2:/x/\n");
  const auto hashes = one.open({});
  const Served served = Core(*hashes).serve_one(small);
  EXPECT_EQ(served.frame.size(), 42U + 32 + kTrailerBytes);
  expect_headers(small, served.frame, 32);
  EXPECT_EQ(Core(*pipeline).serve_one(sent).frame, swapped(sent));
  // The compact form holds only the low bits of the trial's number.
  write_trailer(small, {.trial = 259, .number = 1, .due_ns = 2, .frame = 0});
  const Served late = Core(*hashes).serve_one(small);
  const auto length = static_cast<std::uint32_t>(late.frame.size());
  ASSERT_GE(length, kLeastFullFrame);
  EXPECT_TRUE(belongs_to(*read_trailer(late.frame), length, 259));
  EXPECT_FALSE(belongs_to(*read_trailer(late.frame), length, 260));
}

TEST(Recognition, WhatCannotBeClassifiedComesBackAndOnlyCutAddressesAreDropped) {
  Bench bench;
  const auto pipeline = bench.open({});
  Core core(*pipeline);
  const std::string text = "HASH-ME7 and more of it";
  std::vector<Frame> frames = {
      framed(ipv4(17, udp(text), 0x2000)),       // first fragment
      framed(ipv4(17, bytes_of(text), 0x0004)),  // later fragment
      framed(ipv4(1, bytes_of(text))),           // ICMP
      framed(ipv4(132, bytes_of(text))),         // SCTP
      framed(ipv6(44, dpubench::test::join(dpubench::test::hex("11 00 0001 00000009"), udp(text)))),
      framed(ipv4(17, udp(text)), 0, 0, "8100 0001 8100 0002 8100 0003 0800"),
      framed(ipv4(17, udp("")), 0, 0),
      framed(dpubench::test::hex("4500"), 0, 0, "0806"),
      Frame(14),
  };
  frames.push_back(framed(ipv4(17, udp(text))));
  frames.back()[17] = std::byte{255};  // an IP packet longer than its frame
  for (const Frame& frame : frames) {
    const Served served = core.serve_one(frame);
    EXPECT_EQ(served.fate, Fate::kForward);
    EXPECT_EQ(served.frame, swapped(frame));
  }
  for (const std::size_t bytes : {0U, 1U, 13U}) EXPECT_EQ(core.serve_one(Frame(bytes)).fate, Fate::kDropShort);
}

TEST(Recognition, AnAnswerWithoutRoomIsDropped) {
  Bench bench;
  const auto pipeline = bench.open({});
  Core core(*pipeline);
  const Frame sent = udp_frame("HASH-ME7");
  EXPECT_EQ(core.serve_one(sent, 128 + 97).fate, Fate::kDropNoRoom);
  EXPECT_EQ(core.serve_one(sent, 128 + 98).fate, Fate::kForward);
}

std::vector<Class> classes_of(Core& core, const std::vector<Frame>& frames, std::uint32_t burst) {
  const std::vector<Served> served = core.serve(frames, burst);
  std::vector<Class> classes;
  for (std::size_t i = 0; i < frames.size(); ++i) classes.push_back(class_of_reply(frames[i], served[i]));
  return classes;
}

TEST(Recognition, ASignatureInThreeSegmentsIsFoundInAnyOrder) {
  Bench bench;
  const auto stream = bench.open({.params = {{"mode", "stream"}}});
  const auto packet = bench.open({});
  const std::string pieces[] = {kDull + " HAS", "H-M", "E7 " + kDull};
  const std::uint32_t start = 0xffffffd0;  // the sequence number wraps within the first piece
  const std::uint32_t at[] = {start, start + static_cast<std::uint32_t>(pieces[0].size()),
                              start + static_cast<std::uint32_t>(pieces[0].size() + pieces[1].size())};
  std::array<std::size_t, 3> order = {0, 1, 2};
  do {
    for (const std::uint32_t burst : {1U, 32U}) {
      std::vector<Frame> frames;
      for (const std::size_t i : order) frames.push_back(tcp_frame(pieces[i], at[i]));
      for (const std::size_t i : order) frames.push_back(tcp_frame(pieces[i], at[i]));  // retransmitted
      frames.push_back(tcp_frame("more", at[2] + static_cast<std::uint32_t>(pieces[2].size())));
      Core core(*stream);
      // The segment that comes last completes the signature. No segment before or after it counts as a match.
      EXPECT_EQ(classes_of(core, frames, burst),
                (std::vector{Class::kEcho, Class::kEcho, Class::kHash, Class::kEcho, Class::kEcho, Class::kEcho, Class::kEcho}));
      EXPECT_EQ(core.collect()["stream"]["repeated"], 3);
      Core blind(*packet);
      EXPECT_EQ(classes_of(blind, frames, burst), std::vector(7, Class::kEcho));
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Recognition, FlowsAreNotMixedAndOverlapsKeepTheFirstCopy) {
  Bench bench;
  const auto pipeline =
      bench.open({.params = {{"mode", "stream"}}, .engines = {{"scan", "hyperscan"}, {"hash", "openssl"}, {"compress", "zlib"}}});
  Core core(*pipeline);
  std::vector<Frame> frames = {tcp_frame("HASH-", 100, 1), tcp_frame("ME7", 105, 2), tcp_frame("ME7", 105, 1)};
  EXPECT_EQ(classes_of(core, frames, 32), (std::vector{Class::kEcho, Class::kEcho, Class::kHash}));
  // The first copy of bytes counts. In flow 3 it completes no signature, and in flow 4 it does.
  frames = {tcp_frame("HASH", 100, 3), tcp_frame("....xME7", 100, 3), tcp_frame("HASH", 100, 4), tcp_frame("....-ME7", 100, 4)};
  EXPECT_EQ(classes_of(core, frames, 32), (std::vector{Class::kEcho, Class::kEcho, Class::kEcho, Class::kHash}));
  // UDP has no order, so each packet is searched by itself.
  const std::vector<Frame> datagrams = {udp_frame("HASH-"), udp_frame("ME7"), udp_frame("HASH-ME7")};
  EXPECT_EQ(classes_of(core, datagrams, 32), (std::vector{Class::kEcho, Class::kEcho, Class::kHash}));
}

TEST(Recognition, ServersOneBehindTheOtherAnswerAsOneDoes) {
  Bench bench;
  const auto all = bench.open({});
  const auto first = bench.open({.stages = {"scan"}, .has_next = true});
  const auto second = bench.open({.stages = {"hash", "compress"}});
  std::vector<Frame> frames;
  for (const std::string& text : {kDull, "HASH-ME7 " + kDull, "squeeze! " + kDull}) {
    frames.push_back(udp_frame(text));
    frames.push_back(framed(ipv6(6, tcp(text)), 0, 0, "88a8 0001 8100 0002 86dd"));
  }
  Core one(*all);
  Core front(*first);
  Core back(*second);
  for (const Frame& frame : frames) {
    const Served want = one.serve_one(frame);
    Served got = front.serve_one(frame);
    if (got.fate == Fate::kNext) got = back.serve_one(got.frame);
    EXPECT_EQ(got.fate, Fate::kForward);
    EXPECT_EQ(got.frame, want.frame);
  }
  EXPECT_EQ(front.collect()["classes"], (nlohmann::json{{"echo", 2}, {"hash", 2}, {"compress", 2}}));
  EXPECT_EQ(back.collect()["hash"]["answered"], 2);
  EXPECT_EQ(back.collect()["compress"]["answered"], 2);
  // A server ignores a mark on a frame that cannot be a marked packet.
  EXPECT_EQ(back.serve_one(framed(dpubench::test::hex("4500"), 0, 0, "88b5")).fate, Fate::kForward);
  const auto half = bench.open({.stages = {"hash"}});
  EXPECT_EQ(Core(*half).serve_one(front.serve_one(frames[4]).frame).fate, Fate::kDropFailed);
}

TEST(Recognition, RefusesWhatCannotBeRightAndSaysWhatHelps) {
  Bench bench;
  using dpubench::test::expect_error;
  expect_error(
      [&] {
        static_cast<void>(bench.open({.stages = {"scan", "hash"}}));
      },
      {"stage compress does not run", "second port"});
  expect_error([&] { static_cast<void>(bench.open({.params = {{"mode", "guess"}}})); }, {"mode"});
  expect_error(
      [&] {
        static_cast<void>(bench.open({.engines = {{"scan", "grep"}, {"hash", "portable"}, {"compress", "portable"}}}));
      },
      {"stage scan", "grep"});
  Bench wild("1:/(unclosed/\n2:/[z-a]/\n");
  expect_error([&] { static_cast<void>(wild.open({})); }, {"stage scan", "compiles none of 2 rules"});
}

}  // namespace
}  // namespace dpubench::datapath::recognition
