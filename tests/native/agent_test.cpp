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
  const std::string stream = encode('R', "{}") + encode('D', std::string(300, 'x'), 0x1234) + encode('E', "", 0xffff);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    FrameReader reader;
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      reader.feed(std::string_view(stream).substr(at, step));
      while (auto frame = reader.next()) frames.push_back(*frame);
    }
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[0].payload, "{}");
    EXPECT_EQ(frames[0].program, 0);
    EXPECT_EQ(frames[1].payload.size(), 300U);
    EXPECT_EQ(frames[1].program, 0x1234);
    EXPECT_EQ(frames[2].kind, 'E');
    EXPECT_EQ(frames[2].program, 0xffff);
  }
}

TEST(AgentFrames, RubbishAndHugeLengthsAreRefusedAtOnce) {
  FrameReader rubbish;
  rubbish.feed("h");
  EXPECT_THROW(rubbish.next(), dpubench::Error);
  FrameReader largest;
  largest.feed(encode('D', std::string(kMaxPayload, 'x')));
  EXPECT_EQ(largest.next()->payload.size(), kMaxPayload);
  FrameReader one_more;
  one_more.feed("D" + std::string(2, '\0') + dpubench::agent::encode_count(kMaxPayload + 1));
  EXPECT_THROW(one_more.next(), dpubench::Error) << "before any byte of it came";
  FrameReader huge;
  huge.feed(std::string("D\0\0\xff\xff\xff\xff", 7));
  EXPECT_THROW(huge.next(), dpubench::Error);
}

TEST_F(Agents, RubbishIsAnsweredWithAFault) {
  const Installed installed;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GET / HTTP/1.1\r\n", "are not a frame"},
      {std::string("R\0\0\x7f\xff\xff\xff", 7), "at most 1048576"},
      {encode('R', "{"), "cannot read a request"},
      {encode('R', "[1]"), "cannot read a request"},
      {encode('R', R"({"do":"dance"})"), "unknown request 'dance'"},
      {encode('R', R"({"do":"run","program":"x","arguments":[],"environment":{}})"), "unknown request 'run'"},
      {encode('D', "x"), "before any request"}};
  for (const auto& [bytes, words] : cases) {
    Agent agent(installed);
    agent.write_raw(bytes);
    EXPECT_NE(agent.fault().find(words), std::string::npos) << words;
    EXPECT_EQ(agent.wait(), 1);
  }
}

TEST_F(Agents, AProgramThatCannotStartIsReportedAndOthersCan) {
  const Installed installed;
  installed.script("echoes", "echo here");
  Agent agent(installed);
  std::uint16_t number = 0;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"do":"run"})", "cannot read a request"},
      {R"({"do":"describe"})", "'describe' came with the number of a program"},
      {"{", "cannot read a request"},
      {R"({"do":"run","program":"../../sh","arguments":[],"environment":{}})", "not the name of a program"},
      {R"({"do":"run","program":"layouts/../sh","arguments":[],"environment":{}})", "not the name of a program"},
      {R"({"do":"run","program":"layouts/1/../sh","arguments":[],"environment":{}})", "not the name of a program"},
      {R"({"do":"run","program":"layouts/1/sh","arguments":[],"environment":{}})", "no such program"},
      {R"({"do":"run","program":"sh","arguments":[],"environment":{}})", "no such program"},
      {R"({"do":"run","program":"dpubench-agent","arguments":[],"environment":{"LD_PRELOAD":"x"}})", "cannot be set"}};
  for (const auto& [request, words] : cases) {
    agent.send(Frame::kRequest, request, ++number);
    const Frame fault = agent.receive();
    EXPECT_EQ(fault.kind, Frame::kFault);
    EXPECT_EQ(fault.program, number);
    EXPECT_NE(fault.payload.find(words), std::string::npos) << fault.payload;
  }
  agent.run("echoes", ++number);
  EXPECT_EQ(agent.output(number), std::pair(std::string("here\n"), json{{"status", 0}}));
  agent.hang_up();
  EXPECT_EQ(agent.wait(), 0);
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
      {{"do", "run"}, {"program", "echoes"}, {"arguments", {"a b", "'; exit 1 \"$x\""}}, {"environment", {{"GIVEN", "v"}}}}, 1);
  const std::string long_text(kMaxPayload, 'y');
  std::thread sender([&] {  // more than pipes hold: both directions have to move
    agent.give("first " + long_text);
    agent.send(Frame::kEnd, "", 1);
  });
  const auto [text, end] = agent.output();
  sender.join();
  EXPECT_EQ(text, "a b|'; exit 1 \"$x\"|v\nfirst " + long_text);
  EXPECT_EQ(end, (json{{"status", 3}}));
  agent.hang_up();
  EXPECT_EQ(agent.wait(), 0);
}

TEST_F(Agents, TakesFramesThatComeAllAtOnce) {
  const Installed installed;
  installed.script("counts", "sleep 0.2; wc -c");
  Agent agent(installed);
  std::string all = encode(
      'R', json{{"do", "run"}, {"program", "counts"}, {"arguments", json::array()}, {"environment", json::object()}}.dump(), 1);
  for (int i = 0; i < 60; ++i) all += encode('D', std::string(4000, 'x'), 1);  // more than a pipe takes, which is 64 KiB
  std::thread sender([&] { agent.write_raw(all + encode('E', "", 1)); });
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
  std::thread sender([&] { agent.give(std::string(800'000, 'x')); });
  const auto [text, end] = agent.output();
  sender.join();
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
  agent.takes_output = false;
  // Nobody reads now. An agent that went on taking output in would grow by hundreds of MiB.
  const std::size_t before_kib = agent.resident_kib();
  ASSERT_GT(before_kib, 0U);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(agent.resident_kib(), before_kib + 4096);
  agent.hang_up();
  EXPECT_EQ(agent.wait(), 0);
}

// --- several programs on one connection

TEST_F(Agents, KillsOneProgramAndAllThatItStartedAndNoneOfAnother) {
  const Installed installed;
  installed.script("stubborn", kStubborn);
  installed.script("asks", "sleep 600 & echo $!; read line; echo \"$line\"; exit 0");
  Agent agent(installed);
  agent.run("stubborn", 1);
  const std::vector<pid_t> pids = pids_of(agent, 4, 1);
  agent.run("asks", 2);
  const pid_t of_other = pids_of(agent, 1, 2).front();
  agent.send(Frame::kKill, "", 1);
  EXPECT_EQ(agent.output(1).second, (json{{"signal", SIGKILL}}));
  for (const pid_t pid : pids) EXPECT_FALSE(runs(pid)) << pid;
  EXPECT_TRUE(runs(of_other));
  agent.send(Frame::kData, "still here\n", 2);
  EXPECT_EQ(agent.output(2), std::pair(std::string("still here\n"), json{{"status", 0}}));
  EXPECT_FALSE(runs(of_other));
  agent.send(Frame::kKill, "", 1);  // too late, and no fault
  agent.run("asks", 3);
  const pid_t third = pids_of(agent, 1, 3).front();
  agent.hang_up();
  EXPECT_EQ(agent.wait(), 0);
  EXPECT_FALSE(runs(third));
}

TEST_F(Agents, EndsAllProgramsWithTheConnection) {
  const Installed installed;
  installed.script("stubborn", kStubborn);
  Agent agent(installed);
  std::vector<pid_t> pids;
  for (std::uint16_t number = 1; number <= 3; ++number) {
    agent.run("stubborn", number);
    for (const pid_t pid : pids_of(agent, 4, number)) pids.push_back(pid);
  }
  agent.hang_up();
  EXPECT_EQ(agent.wait(), 0);
  for (const pid_t pid : pids) EXPECT_FALSE(runs(pid)) << pid;
}

TEST_F(Agents, AProgramThatTakesNoInputAndOneWhoseOutputNobodyTakesHoldUpNoOther) {
  const Installed installed;
  installed.script("deaf", "exec sleep 600");
  installed.script("floods", "exec cat /dev/zero");
  installed.script("echoes", "exec cat");
  Agent agent(installed);
  agent.run("deaf", 1);
  agent.send(Frame::kData, std::string(dpubench::agent::kWindow, 'x'), 1);
  agent.takes_output = false;
  agent.run("floods", 2);
  std::size_t flooded = 0;
  while (flooded < dpubench::agent::kWindow) flooded += agent.receive().payload.size();
  agent.takes_output = true;
  agent.run("echoes", 3);
  std::thread sender([&] {
    agent.give(std::string(1'000'000, 'y'), 3);
    agent.send(Frame::kEnd, "", 3);
  });
  const auto [text, end] = agent.output(3);
  sender.join();
  EXPECT_EQ(text.size(), 1'000'000U);
  EXPECT_EQ(end, (json{{"status", 0}}));
  EXPECT_EQ(flooded, dpubench::agent::kWindow);
}

TEST_F(Agents, PassesErrorsOnByProgram) {
  const Installed installed;
  installed.script("complains", "echo \"out of $1\" >&2; exit 7");
  Agent agent(installed);
  for (std::uint16_t number = 1; number <= 2; ++number) {
    agent.request({{"do", "run"},
                   {"program", "complains"},
                   {"arguments", {"luck " + std::to_string(number)}},
                   {"environment", json::object()}},
                  number);
    const Frame errors = agent.receive();
    EXPECT_EQ(errors.kind, Frame::kErrors);
    EXPECT_EQ(errors.program, number);
    EXPECT_EQ(errors.payload, "out of luck " + std::to_string(number) + "\n");
    EXPECT_EQ(agent.output(number).second, (json{{"status", 7}}));
  }
}

/// Return the process that started a program, which has the processes `pids`.
pid_t supervisor_of(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(in, line);
    const auto parent = static_cast<pid_t>(std::stol(line.substr(line.rfind(')') + 4)));
    if (std::find(pids.begin(), pids.end(), parent) == pids.end()) return parent;
  }
  throw std::runtime_error("every process has its parent among them");
}

TEST_F(Agents, AProgramWhoseSupervisorWasKilledLeavesNothing) {
  const Installed installed;
  installed.script("stubborn", kStubborn);
  installed.script("sleeps", "echo $$; exec sleep 600");
  Agent agent(installed);
  agent.run("sleeps", 1);
  const pid_t other = pids_of(agent, 1, 1).front();
  agent.run("stubborn", 2);
  const std::vector<pid_t> pids = pids_of(agent, 4, 2);
  kill(supervisor_of(pids), SIGKILL);
  EXPECT_EQ(agent.output(2).second, (json{{"signal", SIGKILL}}));
  for (const pid_t pid : pids) EXPECT_FALSE(runs(pid)) << pid;
  EXPECT_TRUE(runs(other));
}

TEST_F(Agents, FramesOfProgramsThatBreakTheRulesEndIt) {
  const Installed installed;
  installed.script("sleeps", "echo $$; exec sleep 600");
  const std::string again = encode(
      'R', json{{"do", "run"}, {"program", "sleeps"}, {"arguments", json::array()}, {"environment", json::object()}}.dump(), 1);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {encode('D', std::string(dpubench::agent::kWindow + 1, 'x'), 1), "more input than it takes"},
      {encode('E', "", 1) + encode('D', "x", 1), "more input than it takes"},
      {encode('D', "x", 2), "never started"},
      {encode('K', "", 0), "never started"},
      {encode('T', dpubench::agent::encode_count(1'000'000), 1), "not counted right"},
      {encode('T', "1", 1), "not counted right"},
      {again, "no new one"}};
  for (const auto& [bytes, words] : cases) {
    Agent agent(installed);
    agent.run("sleeps");
    const pid_t pid = pids_of(agent, 1).front();
    agent.write_raw(bytes);
    EXPECT_NE(agent.fault().find(words), std::string::npos) << words;
    EXPECT_EQ(agent.wait(), 1);
    EXPECT_FALSE(runs(pid));
  }
}

}  // namespace
