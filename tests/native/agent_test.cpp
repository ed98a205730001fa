// The agent: framing and its limits, programs that do not want to end.
#include "agent_process.hpp"
#include "base/error.hpp"
#include "expect_error.hpp"

namespace {

using dpubench::agent::encode;
using dpubench::agent::Frame;
using dpubench::agent::FrameReader;
using dpubench::agent::kMaxPayload;
using dpubench::test::Agent;
using dpubench::test::Agents;
using dpubench::test::ends;
using dpubench::test::Installed;
using dpubench::test::pids_of;
using dpubench::test::runs;
using nlohmann::json;

TEST(AgentFrames, AreFoundHoweverTheBytesArrive) {
  const std::string stream = encode('R', "{}") + encode('D', std::string(300, 'x')) + encode('E', "");
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    FrameReader reader;
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      reader.feed(std::string_view(stream).substr(at, step));
      while (auto frame = reader.next()) frames.push_back(*frame);
    }
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[0].payload, "{}");
    EXPECT_EQ(frames[1].payload.size(), 300U);
    EXPECT_EQ(frames[2].kind, 'E');
  }
}

TEST(AgentFrames, RubbishAndHugeLengthsAreRefusedAtOnce) {
  FrameReader rubbish;
  rubbish.feed("h");
  EXPECT_THROW(rubbish.next(), dpubench::Error);
  FrameReader largest;
  largest.feed(encode('D', std::string(kMaxPayload, 'x')));
  EXPECT_EQ(largest.next()->payload.size(), kMaxPayload);
  FrameReader huge;
  huge.feed(std::string("D\xff\xff\xff\xff", 5));
  EXPECT_THROW(huge.next(), dpubench::Error);
}

TEST_F(Agents, RubbishIsAnsweredWithAFault) {
  const Installed installed;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GET / HTTP/1.1\r\n", "are not a frame"},
      {std::string("R\x7f\xff\xff\xff", 5), "at most 1048576"},
      {encode('R', "{"), "cannot read a request"},
      {encode('R', "[1]"), "cannot read a request"},
      {encode('R', R"({"do":"dance"})"), "unknown request 'dance'"},
      {encode('R', R"({"do":"run"})"), "cannot read a request"},
      {encode('R', R"({"do":"run","program":"../../sh","arguments":[],"environment":{}})"), "not the name of a program"},
      {encode('R', R"({"do":"run","program":"layouts/../sh","arguments":[],"environment":{}})"), "not the name of a program"},
      {encode('R', R"({"do":"run","program":"layouts/1/../sh","arguments":[],"environment":{}})"), "not the name of a program"},
      {encode('R', R"({"do":"run","program":"layouts/1/sh","arguments":[],"environment":{}})"), "no such program"},
      {encode('R', R"({"do":"run","program":"sh","arguments":[],"environment":{}})"), "no such program"},
      {encode('R', R"({"do":"run","program":"dpubench-agent","arguments":[],"environment":{"LD_PRELOAD":"x"}})"),
       "cannot be set"},
      {encode('D', "x"), "before any request"}};
  for (const auto& [bytes, words] : cases) {
    Agent agent(installed);
    agent.write_raw(bytes);
    EXPECT_NE(agent.fault().find(words), std::string::npos) << words;
    EXPECT_EQ(agent.wait(), 1);
  }
}

TEST_F(Agents, EndsWithItsInput) {
  const Installed installed;
  for (const std::string& sent : {std::string(), std::string("R\0\0", 3), encode('R', R"({"do":"have","files":[]})")}) {
    Agent agent(installed);
    agent.write_raw(sent);
    agent.hang_up();
    EXPECT_EQ(agent.wait(), 0);
  }
}

TEST_F(Agents, PassesInputOutputArgumentsEnvironmentAndStatus) {
  const Installed installed;
  installed.script("echoes", R"(printf '%s|' "$@"; printf '%s\n' "$GIVEN"; cat; exit 3)");
  Agent agent(installed);
  agent.request(
      {{"do", "run"}, {"program", "echoes"}, {"arguments", {"a b", "'; exit 1 \"$x\""}}, {"environment", {{"GIVEN", "v"}}}});
  const std::string long_text(kMaxPayload, 'y');
  std::thread sender([&] {  // more than pipes hold: both directions have to move
    agent.send(Frame::kData, "first ");
    agent.send(Frame::kData, long_text);
    agent.send(Frame::kEnd, "");
  });
  const auto [text, end] = agent.output();
  sender.join();
  EXPECT_EQ(text, "a b|'; exit 1 \"$x\"|v\nfirst " + long_text);
  EXPECT_EQ(end, (json{{"status", 3}}));
  EXPECT_EQ(agent.wait(), 0);
}

TEST_F(Agents, TakesFramesThatComeAllAtOnce) {
  const Installed installed;
  installed.script("counts", "sleep 0.2; wc -c");
  Agent agent(installed);
  std::string all = encode(
      'R', json{{"do", "run"}, {"program", "counts"}, {"arguments", json::array()}, {"environment", json::object()}}.dump());
  for (int i = 0; i < 60; ++i) all += encode('D', std::string(4000, 'x'));  // more than a pipe takes, which is 64 KiB
  std::thread sender([&] { agent.write_raw(all + encode('E', "")); });
  const auto [text, end] = agent.output();
  sender.join();
  EXPECT_EQ(std::stoi(text), 240'000);
}

TEST_F(Agents, TellsASignal) {
  const Installed installed;
  installed.script("dies", "kill -SEGV $$");
  Agent agent(installed);
  agent.run("dies");
  EXPECT_EQ(agent.output().second, (json{{"signal", SIGSEGV}}));
}

TEST_F(Agents, AProgramThatClosesItsInputStillEndsAsItWants) {
  const Installed installed;
  installed.script("deaf", "exec <&-; sleep 0.2; echo done");
  Agent agent(installed);
  agent.run("deaf");
  for (int i = 0; i < 8; ++i) agent.send(Frame::kData, std::string(100'000, 'x'));
  const auto [text, end] = agent.output();
  EXPECT_EQ(text, "done\n");
  EXPECT_EQ(end, (json{{"status", 0}}));
}

/// Ignores what can be ignored; has a child, and one in a session of its own that has a child in turn.
constexpr const char* kStubborn = R"(trap '' TERM HUP INT PIPE
sleep 600 & echo $!
setsid sh -c 'trap "" TERM HUP INT; sleep 600 & echo $!; wait' &
echo $!; echo $$
while :; do sleep 1; done)";

TEST_F(Agents, NothingOutlivesTheConnection) {
  const Installed installed;
  installed.script("stubborn", kStubborn);
  Agent agent(installed);
  agent.run("stubborn");
  const std::vector<pid_t> pids = pids_of(agent, 4);
  for (const pid_t pid : pids) EXPECT_TRUE(runs(pid));
  agent.hang_up();
  EXPECT_EQ(agent.wait(), 0);
  for (const pid_t pid : pids) EXPECT_FALSE(runs(pid)) << pid;
}

TEST_F(Agents, NothingOutlivesASignalToIt) {
  for (const int number : {SIGHUP, SIGTERM, SIGINT}) {
    const Installed installed;
    installed.script("stubborn", kStubborn);
    Agent agent(installed);
    agent.run("stubborn");
    const std::vector<pid_t> pids = pids_of(agent, 4);
    agent.signal(number);
    EXPECT_EQ(agent.wait(), 0);
    for (const pid_t pid : pids) EXPECT_FALSE(runs(pid)) << pid;
  }
}

TEST_F(Agents, AProgramDoesNotOutliveAnAgentThatWasKilled) {
  const Installed installed;
  installed.script("sleeps", "echo $$; exec sleep 600");
  Agent agent(installed);
  agent.run("sleeps");
  const pid_t pid = pids_of(agent, 1).front();
  agent.signal(SIGKILL);
  EXPECT_EQ(agent.wait(), -1);
  EXPECT_TRUE(ends(pid));
}

TEST_F(Agents, WhatAProgramLeavesBehindEndsWithIt) {
  const Installed installed;
  installed.script("leaves", "setsid sleep 600 & echo $!; exit 0");
  Agent agent(installed);
  agent.run("leaves");
  const pid_t left = pids_of(agent, 1).front();
  EXPECT_EQ(agent.output().second, (json{{"status", 0}}));
  EXPECT_FALSE(runs(left));
}

TEST_F(Agents, AFloodOfOutputDoesNotGrowItAndStopsWithTheConnection) {
  const Installed installed;
  installed.script("floods", "exec cat /dev/zero");
  Agent agent(installed);
  agent.run("floods");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(agent.receive().kind, Frame::kOutput);
  // Nobody reads now. An agent that went on taking output in would grow by hundreds of MiB.
  const std::size_t before_kib = agent.resident_kib();
  ASSERT_GT(before_kib, 0U);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(agent.resident_kib(), before_kib + 4096);
  agent.hang_up();
  EXPECT_EQ(agent.wait(), 0);
}

}  // namespace
