#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "datapath/workloads/application-recognition/bench_of_packets.hpp"
#include "datapath/workloads/swapped.hpp"
#include "inputs/capture.hpp"
#include "inputs/random.hpp"
#include "native/shared_data.hpp"

namespace dpubench::datapath::recognition {
namespace {

using namespace test;
using dpubench::test::ipv4;
using Answer = Expectation::Answer;

const std::string kDull = "nothing of interest here, nothing of interest here, nothing of interest here, nothing of interest";

std::vector<FrameTemplate> templates_of(const std::vector<Frame>& frames, std::uint32_t flow = 0) {
  std::vector<FrameTemplate> templates;
  for (const Frame& frame : frames) templates.push_back({frame, flow});
  return templates;
}

Frame raised(Frame frame, std::uint64_t number) {
  Trailer trailer = *read_trailer(frame);
  trailer.number = number;
  write_trailer(frame, trailer);
  return frame;
}

/// Return a frame as a client patches it, with this TCP sequence number and address.
Frame patched(const Frame& made, std::uint32_t sequence, std::uint8_t address, std::uint64_t number) {
  Frame frame = made;
  const packet::Parsed p = packet::parse(frame);
  for (unsigned i = 0; i < 4; ++i) frame[p.transport + 4U + i] = static_cast<std::byte>(sequence >> (24 - 8 * i));
  frame[p.ip + 15U] = std::byte{address};
  packet::set_checksums(frame, p);
  return raised(frame, number);
}

TEST(RecognitionExpectation, RightRepliesAreRightAndAnyWrongBitIsWrong) {
  Bench bench;
  const auto pipeline = bench.open({});
  Core core(*pipeline);
  const std::vector<Frame> frames = {udp_frame(kDull), udp_frame("HASH-ME7"), udp_frame("squeeze! " + kDull),
                                     tcp_frame("fingerprint"), framed(ipv4(1, bytes_of(kDull)))};
  const auto expectation = bench.expect({}, templates_of(frames));
  for (std::uint32_t i = 0; i < frames.size(); ++i) {
    SCOPED_TRACE(i);
    const Served served = core.serve_one(frames[i]);
    EXPECT_EQ(expectation->judge(i, frames[i], served.frame, false), Answer::kRight);
    EXPECT_EQ(expectation->judge(i, frames[i], served.frame, false), Answer::kRight) << "from what was remembered";
    EXPECT_FALSE(expectation->may_drop(i));
    // The client has checked the trailer before.
    const std::size_t bits = 8 * (served.frame.size() - trailer_bytes(static_cast<std::uint32_t>(served.frame.size())));
    for (std::size_t bit = 0; bit < bits; ++bit) {
      Frame wrong = served.frame;
      wrong[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      ASSERT_EQ(expectation->judge(i, frames[i], wrong, false), Answer::kWrong) << "bit " << bit;
      ASSERT_FALSE(expectation->explain(i, frames[i], wrong).empty());
    }
    for (std::size_t length = 0; length < served.frame.size(); ++length) {
      ASSERT_EQ(expectation->judge(i, frames[i], std::span(served.frame).first(length), false), Answer::kWrong) << length;
    }
    // This is the right answer to another packet.
    const Served other = core.serve_one(frames[(i + 1) % frames.size()]);
    EXPECT_EQ(expectation->judge(i, frames[i], other.frame, false), Answer::kWrong);
  }
}

TEST(RecognitionExpectation, AnAnswerOfAnotherClassIsWrong) {
  Bench bench;
  const Frame sent = udp_frame("HASH-ME7 " + kDull);
  const auto expectation = bench.expect({}, templates_of({sent}));
  Frame echo = sent;
  swap_addresses(echo.data());
  EXPECT_EQ(expectation->judge(0, sent, echo, false), Answer::kWrong);
  EXPECT_EQ(expectation->judge(0, sent, echo, true), Answer::kWrong);  // no loss explains it
  const std::string text = expectation->explain(0, sent, echo);
  EXPECT_NE(text.find("expected hash"), std::string::npos) << text;
  EXPECT_NE(text.find("right answer of class echo"), std::string::npos) << text;
  EXPECT_EQ(text.find("nothing of interest"), std::string::npos) << "no payload is printed";
  // A payload that compresses well must come back compressed.
  const Frame squeezed = udp_frame("squeeze! " + kDull);
  const auto other = bench.expect({}, templates_of({squeezed}));
  echo = squeezed;
  swap_addresses(echo.data());
  EXPECT_EQ(other->judge(0, squeezed, echo, false), Answer::kWrong);
}

TEST(RecognitionExpectation, WhereAnEngineRefusesARuleBothAnswersAreRight) {
  // Rule 2 has more repeats than Hyperscan takes, but not more than PCRE2 does.
  Bench bench("1:/never-there/\n2:/q{1,40000}contested/\n3:/squeeze!/\n");
  const std::vector<Frame> frames = {udp_frame("qqcontested " + kDull), udp_frame("squeeze! qqcontested " + kDull)};
  const auto expectation = bench.expect({}, templates_of(frames));
  std::vector<Class> classes;
  for (const char* engine : {"pcre2", "hyperscan"}) {
    const auto pipeline = bench.open({.engines = {{"scan", engine}, {"hash", "portable"}, {"compress", "portable"}}});
    Core core(*pipeline);
    for (std::uint32_t i = 0; i < frames.size(); ++i) {
      const Served served = core.serve_one(frames[i]);
      classes.push_back(class_of_reply(frames[i], served));
      EXPECT_EQ(expectation->judge(i, frames[i], served.frame, false), Answer::kRight) << engine;
    }
  }
  EXPECT_EQ(classes, (std::vector{Class::kHash, Class::kHash, Class::kEcho, Class::kCompress}));
  Frame echo = frames[1];
  swap_addresses(echo.data());
  EXPECT_EQ(expectation->judge(1, frames[1], echo, false), Answer::kWrong) << "another rule matches, which nobody refuses";
}

/// Messages of three segments as the client's model makes them. The templates of every message begin at the same number. The
/// sent segments continue where the flow's last message ended.
TEST(RecognitionExpectation, MessagesOfAFlowFollowEachOther) {
  Bench bench;
  const Params params = {{"mode", "stream"}};
  const auto pipeline = bench.open({.params = params});
  const std::string filler(40, 'f');
  const std::vector<std::vector<std::string>> messages = {
      {filler, filler, filler}, {filler + " HA", "SH-M", "E7 " + filler}, {"squ", "eeze! " + kDull, filler + filler}};
  std::vector<FrameTemplate> templates;
  std::vector<std::uint32_t> length;
  for (std::size_t m = 0; m < messages.size(); ++m) {
    const auto& text = messages[m];
    const auto second = static_cast<std::uint32_t>(text[0].size());
    const auto third = second + static_cast<std::uint32_t>(text[1].size());
    length.push_back(third + static_cast<std::uint32_t>(text[2].size()));
    templates.push_back({tcp_frame(text[0], 0), static_cast<std::uint32_t>(m)});
    templates.push_back({tcp_frame(text[2], third), static_cast<std::uint32_t>(m)});
    templates.push_back({tcp_frame(text[1], second), static_cast<std::uint32_t>(m)});
  }
  const auto expectation = bench.expect(params, templates);
  Core core(*pipeline);
  inputs::Random random(3);
  std::array<std::uint32_t, 4> sent_before = {0xffffff00, 17, 99'999, 5};
  std::array<int, 3> classes{};
  std::uint64_t number = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t flow = random.below(4);
    const std::size_t m = random.below(messages.size());
    for (std::uint32_t s = 0; s < 3; ++s) {
      const auto index = static_cast<std::uint32_t>(3 * m + s);
      const packet::Parsed p = packet::parse(templates[index].frame);
      const std::uint32_t offset = wire::be32(std::span(templates[index].frame), p.transport + 4U);
      const Frame sent =
          patched(templates[index].frame, sent_before[flow] + offset, static_cast<std::uint8_t>(10 + flow), number++);
      const Served served = core.serve_one(sent);
      ++classes[static_cast<std::size_t>(class_of_reply(sent, served))];
      ASSERT_EQ(expectation->judge(index, sent, served.frame, false), Answer::kRight)
          << "round " << round << ": " << expectation->explain(index, sent, served.frame);
    }
    sent_before[flow] += length[m];
  }
  EXPECT_GT(classes[1], 50);
  EXPECT_GT(classes[2], 50);
}

TEST(RecognitionExpectation, AfterALossInAFlowItCannotBeToldWhatWasCompleted) {
  Bench bench;
  const Params params = {{"mode", "stream"}};
  const auto pipeline = bench.open({.params = params});
  const std::vector<Frame> frames = {tcp_frame(kDull + " HASH-", 1),
                                     tcp_frame("ME7", 1 + static_cast<std::uint32_t>(kDull.size()) + 6)};
  const auto expectation = bench.expect(params, templates_of(frames));
  Core core(*pipeline);
  const Served alone = core.serve_one(frames[1]);  // the first was lost
  EXPECT_EQ(expectation->judge(1, frames[1], alone.frame, true), Answer::kCannotTell);
  EXPECT_EQ(expectation->judge(1, frames[1], alone.frame, false), Answer::kWrong);
  Frame wrong = alone.frame;
  wrong[50] ^= std::byte{1};
  EXPECT_EQ(expectation->judge(1, frames[1], wrong, true), Answer::kWrong) << "the right answer of no class";
}

/// Return the packets of a capture as Ethernet frames of at most `most_bytes`.
std::vector<FrameTemplate> frames_of(const inputs::Capture& capture, std::uint32_t most_bytes) {
  std::vector<FrameTemplate> templates;
  std::map<std::vector<std::byte>, std::uint32_t> flows;
  for (const inputs::Packet& packet : capture.packets) {
    const auto ip = capture.ip(packet);
    if (ip.size() + kEthernetBytes + kTrailerBytes > most_bytes) continue;
    const Frame frame = framed({ip.begin(), ip.end()}, templates.size(), static_cast<std::uint32_t>(templates.size()));
    const packet::Parsed p = packet::parse(frame);
    Frame tuple;
    if (p.kind == packet::Kind::kTransport) {
      tuple.assign(frame.begin() + p.ip + (p.version == 4 ? 12 : 8), frame.begin() + p.ip + (p.version == 4 ? 20 : 40));
      tuple.insert(tuple.end(), frame.begin() + p.transport, frame.begin() + p.transport + 4);
    }
    templates.push_back({frame, flows.try_emplace(tuple, static_cast<std::uint32_t>(flows.size())).first->second});
  }
  return templates;
}

/// Run a real capture through all stages, twice. Every packet is accounted for and every reply is right, whichever engine
/// searches.
void serve_capture(Bench& bench, const std::filesystem::path& file, const std::string& mode,
                   std::array<std::size_t, 3>& classes) {
  SCOPED_TRACE(file.filename().string() + ", mode " + mode);
  const std::vector<FrameTemplate> templates = frames_of(inputs::read_capture(file), 1514);
  const Params params = {{"mode", mode}};
  const auto expectation = bench.expect(params, templates);
  std::vector<Frame> frames;
  for (const FrameTemplate& t : templates) frames.push_back(t.frame);
  for (const FrameTemplate& t : templates) frames.push_back(raised(t.frame, frames.size()));
  const auto hyperscan =
      bench.open({.params = params, .engines = {{"scan", "hyperscan"}, {"hash", "openssl"}, {"compress", "isal"}}});
  const auto pcre2 = bench.open({.params = params, .engines = {{"scan", "pcre2"}, {"hash", "portable"}, {"compress", "zlib"}}});
  const std::vector<Served> by_hyperscan = Core(*hyperscan).serve(frames, 32, 2048);
  const std::vector<Served> by_pcre2 = Core(*pcre2).serve(frames, 7, 2048);
  ASSERT_EQ(by_hyperscan.size(), frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(i % templates.size());
    for (const Served* served : {&by_hyperscan[i], &by_pcre2[i]}) {
      ASSERT_EQ(served->fate, Fate::kForward) << i;
      ASSERT_EQ(expectation->judge(index, frames[i], served->frame, false), Answer::kRight)
          << i << ": " << expectation->explain(index, frames[i], served->frame);
    }
    const Class c = class_of_reply(frames[i], by_hyperscan[i]);
    ++classes[static_cast<std::size_t>(c)];
    // One library may gain on a payload where another does not.
    if (c != Class::kCompress && class_of_reply(frames[i], by_pcre2[i]) != Class::kCompress) {
      ASSERT_TRUE(by_hyperscan[i].frame == by_pcre2[i].frame) << i;
    }
  }
}

TEST(RecognitionExpectation, RealCapturesComeBackRight) {
  NEED_SHARED_DATA("pcap");
  // The rules name words that real traffic holds.
  Bench bench(
      "1:/dpubench-is-not-there/\n2:/Host: [a-z0-9.-]+/\n3:/(?:User-Agent|Content-Type): /i\n4:/^\\x16\\x03[\\x00-\\x03]/s\n"
      "5:/[Gg]oogle|netflix/\n6:/ (?:200 OK|404 Not Found)\\r/\n");
  std::array<std::size_t, 3> classes{};
  std::size_t captures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dpubench::test::shared_data() / "pcap")) {
    if (entry.path().extension() != ".pcap") continue;
    for (const char* mode : {"packet", "stream"}) serve_capture(bench, entry.path(), mode, classes);
    ++captures;
  }
  EXPECT_GE(captures, 10U);
  EXPECT_GT(classes[1], 100U);
  EXPECT_GT(classes[2], 100U);
}

}  // namespace
}  // namespace dpubench::datapath::recognition
