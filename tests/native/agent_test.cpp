// The agent: framing and its limits, programs that do not want to end, inputs, what it says of a machine (a made-up one).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "agent/connection.hpp"
#include "agent/describe.hpp"
#include "agent/serve.hpp"
#include "agent/store.hpp"
#include "base/error.hpp"
#include "expect_error.hpp"
#include "temporary_directory.hpp"

namespace {

namespace fs = std::filesystem;
using dpubench::agent::encode;
using dpubench::agent::Frame;
using dpubench::agent::FrameReader;
using dpubench::agent::kGreeting;
using dpubench::agent::kMaxPayload;
using dpubench::test::TemporaryDirectory;
using nlohmann::json;

constexpr int kPatienceMs = 20'000;

std::string agent_of_this_build() {
  const char* agent = std::getenv("DPUBENCH_AGENT");
  if (agent == nullptr) throw std::runtime_error("DPUBENCH_AGENT is not set: run this through `meson test`");
  return agent;
}

/// Programs of another architecture start only under the emulator that runs these tests, not from within it.
bool can_start(const std::string& program) {
  const pid_t pid = fork();
  if (pid == 0) {
    close(STDERR_FILENO);
    execl(program.c_str(), program.c_str(), "--help", nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) != 127;
}

/// An installed bundle: the agent of this build, with shell scripts as programs.
class Installed {
 public:
  Installed() {
    folder_.write(dpubench::agent::kMarker, "");
    fs::create_directories(lib());
    fs::copy_file(agent_of_this_build(), lib() / "dpubench-agent");
  }
  [[nodiscard]] fs::path home() const { return folder_.path(); }
  [[nodiscard]] fs::path lib() const { return home() / "bundles/x/lib"; }
  void script(const std::string& name, const std::string& text) const {
    const fs::path file = folder_.write("bundles/x/lib/" + name, "#!/bin/sh\n" + text);
    fs::permissions(file, fs::perms::owner_all);
  }

 private:
  TemporaryDirectory folder_;
};

/// The agent as a process, with pipes to it; killed at the end.
class Agent {
 public:
  explicit Agent(const Installed& installed) {
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    const std::string path = (installed.lib() / "dpubench-agent").string();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      execl(path.c_str(), path.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = out[0];
    std::signal(SIGPIPE, SIG_IGN);
  }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent() {
    hang_up();
    close(out_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  void write_raw(const std::string& bytes) const {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t sent = ::write(in_, bytes.data() + at, bytes.size() - at);
      if (sent <= 0) return;  // it ended: what it said tells more
      at += static_cast<std::size_t>(sent);
    }
  }
  void send(char kind, const std::string& payload) const { write_raw(encode(kind, payload)); }
  void request(const json& what) const { send(Frame::kRequest, what.dump()); }
  void run(const std::string& program) const {
    request({{"do", "run"}, {"program", program}, {"arguments", json::array()}, {"environment", json::object()}});
  }
  void hang_up() {
    if (in_ >= 0) close(in_);
    in_ = -1;
  }
  void signal(int number) const { kill(pid_, number); }

  /// The next frame; one of kind 0 at the end of output.
  Frame receive() {
    for (;;) {
      if (!greeted_ && buffer_.size() >= kGreeting.size()) {
        EXPECT_EQ(buffer_.substr(0, kGreeting.size()), kGreeting);
        buffer_.erase(0, kGreeting.size());
        greeted_ = true;
      }
      if (greeted_ && buffer_.size() >= 5) {
        std::size_t length = 0;
        for (std::size_t i = 1; i < 5; ++i) length = length << 8 | static_cast<unsigned char>(buffer_[i]);
        if (buffer_.size() >= 5 + length) {
          Frame frame{buffer_[0], buffer_.substr(5, length)};
          buffer_.erase(0, 5 + length);
          return frame;
        }
      }
      pollfd waited{out_, POLLIN, 0};
      if (poll(&waited, 1, kPatienceMs) <= 0) throw std::runtime_error("the agent says nothing");
      char bytes[4096];
      const ssize_t got = read(out_, bytes, sizeof bytes);
      if (got <= 0) return {};
      buffer_.append(bytes, static_cast<std::size_t>(got));
    }
  }
  json expect(char kind) {
    const Frame frame = receive();
    EXPECT_EQ(frame.kind, kind) << frame.payload;
    return json::parse(frame.payload, nullptr, false);
  }
  std::string fault() { return expect(Frame::kFault).value("message", ""); }
  /// All output of a program and how it ended.
  std::pair<std::string, json> output() {
    std::string text;
    for (;;) {
      Frame frame = receive();
      if (frame.kind != Frame::kOutput) return {text, json::parse(frame.payload, nullptr, false)};
      text += frame.payload;
    }
  }
  /// Its exit status; -1 when it was killed or does not end.
  int wait() {
    int status = 0;
    for (int i = 0; i < kPatienceMs / 5; ++i) {
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return -1;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  bool greeted_ = false;
  std::string buffer_;
};

bool runs(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(in, line);
  const auto after = line.rfind(')');
  return after != std::string::npos && line[after + 2] != 'Z';
}

bool ends(pid_t pid) {
  for (int i = 0; i < kPatienceMs / 5 && runs(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return !runs(pid);
}

/// Reads lines of process ids that a script printed.
std::vector<pid_t> pids_of(Agent& agent, std::size_t count) {
  std::string text;
  while (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) < count) {
    const Frame frame = agent.receive();
    if (frame.kind != Frame::kOutput) throw std::runtime_error("no output but " + frame.payload);
    text += frame.payload;
  }
  std::istringstream in(text);
  std::vector<pid_t> pids(count);
  for (pid_t& pid : pids) in >> pid;
  return pids;
}

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

class Agents : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_start(agent_of_this_build())) GTEST_SKIP() << "this system does not start programs of this architecture";
  }
};

TEST_F(Agents, RubbishIsAnsweredWithAFault) {
  const Installed installed;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GET / HTTP/1.1\r\n", "no frame"},
      {std::string("R\x7f\xff\xff\xff", 5), "at most 1048576"},
      {encode('R', "{"), "cannot be read"},
      {encode('R', "[1]"), "cannot be read"},
      {encode('R', R"({"do":"dance"})"), "unknown request 'dance'"},
      {encode('R', R"({"do":"run"})"), "cannot be read"},
      {encode('R', R"({"do":"run","program":"../../sh","arguments":[],"environment":{}})"), "no name of a program"},
      {encode('R', R"({"do":"run","program":"sh","arguments":[],"environment":{}})"), "no such program"},
      {encode('R', R"({"do":"run","program":"dpubench-agent","arguments":[],"environment":{"LD_PRELOAD":"x"}})"),
       "cannot be set"},
      {encode('D', "x"), "without a request"}};
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
  agent.hang_up();
  EXPECT_EQ(agent.wait(), 0);
}

// ---- inputs

constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // FIPS 180-4: of "abc"

json file(const std::string& name, std::size_t bytes, const std::string& sha256 = kAbc) {
  return {{"sha256", sha256}, {"name", name}, {"bytes", bytes}};
}

TEST_F(Agents, InputsArriveOnceAndAreKnownAfterwards) {
  const Installed installed;
  Agent agent(installed);
  const json asked = {{"do", "have"}, {"files", {file("a b;'\".txt", 3)}}};
  agent.request(asked);
  EXPECT_EQ(agent.expect('A')["paths"], json::array({nullptr}));
  json put = file("a b;'\".txt", 3);
  put["do"] = "put";
  agent.request(put);
  agent.send(Frame::kData, "a");
  agent.send(Frame::kData, "bc");
  agent.send(Frame::kEnd, "");
  const std::string path = agent.expect('A').value("path", "");
  EXPECT_EQ(path, (installed.home() / "cache/inputs" / kAbc / "a b;'\".txt").string());
  EXPECT_EQ(dpubench::agent::digest_of(path), kAbc);
  agent.request(asked);
  EXPECT_EQ(agent.expect('A')["paths"], json::array({path}));
}

TEST_F(Agents, InputsWrongOnesLeaveNothing) {
  const Installed installed;
  const std::vector<std::pair<json, std::string>> cases = {{file("f", 3, std::string(64, '0')), "is not the file with SHA-256"},
                                                           {file("f", 2), "more came than the 2 bytes"},
                                                           {file("f", 4), "ends after 3 of 4"},
                                                           {file("../f", 3), "may hold neither"},
                                                           {file("f", 3, "../../x"), "is no SHA-256"}};
  for (auto [put, words] : cases) {
    Agent agent(installed);
    put["do"] = "put";
    agent.request(put);
    agent.send(Frame::kData, "abc");
    agent.send(Frame::kEnd, "");
    EXPECT_NE(agent.fault().find(words), std::string::npos) << words;
    EXPECT_EQ(agent.wait(), 1);
  }
  Agent cut(installed);
  json put = file("f", 3);
  put["do"] = "put";
  cut.request(put);
  cut.send(Frame::kData, "a");
  cut.hang_up();
  EXPECT_EQ(cut.wait(), 0);
  EXPECT_TRUE(fs::is_empty(installed.home() / "cache/inputs"));
}

TEST(AgentInputs, PartsOfKilledAgentsAreRemoved) {
  const TemporaryDirectory folder;
  const fs::path left = folder.write("inputs/.part-999999999", "x");
  const dpubench::agent::Incoming next(folder.path(), {kAbc, "f", 3});
  EXPECT_FALSE(fs::exists(left));
}

TEST(AgentBundle, IsComparedWithItsManifest) {
  const TemporaryDirectory folder;
  folder.write("lib/a", "abc");
  const fs::path manifest = folder.write("manifest.json", json{{"files", {{"lib/a", kAbc}}}}.dump());
  const std::string digest = dpubench::agent::digest_of(manifest);
  EXPECT_EQ(dpubench::agent::verify_bundle(folder.path(), digest), 1U);
  const auto verify = [&] { dpubench::agent::verify_bundle(folder.path(), digest); };
  folder.write("lib/a", "abd");
  EXPECT_THROW(verify(), dpubench::Error);
  fs::remove(folder.path() / "lib/a");
  EXPECT_THROW(verify(), dpubench::Error);
  folder.write("manifest.json", "{}");
  EXPECT_THROW(verify(), dpubench::Error);
}

TEST_F(Agents, BundlesOfOthersAreRemovedUnlessTheyAreAtWork) {
  const Installed installed;
  const std::string unused(64, 'a');
  const std::string used(64, 'b');
  fs::create_directories(installed.home() / "bundles" / unused / "lib");
  fs::create_directories(installed.home() / "bundles" / used / "lib");
  fs::create_directories(installed.home() / "bundles/not a digest");
  const fs::path program = installed.home() / "bundles" / used / "lib/sleep";
  fs::copy_file("/bin/sleep", program);
  const pid_t pid = fork();
  if (pid == 0) {
    execl(program.c_str(), "sleep", "600", nullptr);
    _exit(127);
  }
  while (fs::read_symlink("/proc/" + std::to_string(pid) + "/exe") != program)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Agent agent(installed);
  agent.request({{"do", "tidy"}});
  EXPECT_EQ(agent.expect('A')["removed"], json::array({unused}));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_FALSE(fs::exists(installed.home() / "bundles" / unused));
  EXPECT_TRUE(fs::exists(program));
  EXPECT_TRUE(fs::exists(installed.home() / "bundles/not a digest"));
  EXPECT_TRUE(fs::exists(installed.lib()));
}

// ---- what it says of a machine

TEST(AgentDescribe, ReadsListsOfCpus) {
  using dpubench::agent::parse_cpu_list;
  EXPECT_EQ(parse_cpu_list("0-2,5"), (std::vector<int>{0, 1, 2, 5}));
  for (const char* none : {"", "x", "-1", "3-1", "0-999999999"}) EXPECT_TRUE(parse_cpu_list(none).empty()) << none;
}

TEST(AgentDescribe, ABusyCpuIsToldFromAFreeOne) {
  const auto shares = dpubench::agent::busy_between("cpu  9 9\ncpu0 100 0 0 100 0 0 0 0\ncpu2 0 0 0 50 0 0 0 0\n",
                                                    "cpu  9 9\ncpu0 175 0 0 125 0 0 0 0\ncpu2 0 0 0 80 20 0 0 0\nintr 1\n");
  EXPECT_EQ(shares, (std::vector<double>{0.75, 0.0, 0.0}));
}

/// Made-up sysfs of the Arm side of a BlueField-2.
class BlueField : public testing::Test {
 protected:
  BlueField() {
    const std::string cpu = "sys/devices/system/cpu/";
    folder.write(cpu + "online", "0-3\n");
    folder.write(cpu + "isolated", "2-3\n");
    for (int i = 0; i < 4; ++i)
      folder.write(cpu + "cpu" + std::to_string(i) + "/topology/thread_siblings_list", i < 2 ? "0-1\n" : "2-3\n");
    folder.write("proc/stat", "cpu0 1 1 1 1\n");
    folder.write("proc/meminfo", "MemTotal:       16000 kB\nMemAvailable:    8000 kB\n");
    folder.write("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "256\n");
    folder.write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "200\n");
    folder.write("sys/devices/system/node/node0/cpulist", "0-3\n");
    folder.write("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       16000 kB\n");
    folder.write("sys/class/dmi/id/product_name", "BlueField-2 DPU 100GbE\n");
    const std::string pci = "sys/devices/pci0000:00/0000:03:00.0/";
    folder.write(pci + "vendor", "0x15b3\n");
    folder.write(pci + "device", "0xa2d6\n");
    folder.write(pci + "class", "0x020000\n");
    folder.write(pci + "numa_node", "-1\n");
    folder.write(pci + "current_link_speed", "16.0 GT/s PCIe\n");
    folder.write(pci + "current_link_width", "8\n");
    folder.write(pci + "max_link_speed", "16.0 GT/s PCIe\n");
    folder.write(pci + "max_link_width", "16\n");
    link("../../../bus/pci/drivers/mlx5_core", pci + "driver");
    link("../../../devices/pci0000:00/0000:03:00.0", "sys/bus/pci/devices/0000:03:00.0");
    folder.write("sys/class/net/p0/operstate", "up\n");
    folder.write("sys/class/net/p0/speed", "100000\n");
    folder.write("sys/class/net/p0/phys_port_name", "p0\n");
    link("../../../devices/pci0000:00/0000:03:00.0", "sys/class/net/p0/device");
    folder.write("sys/class/net/lo/operstate", "unknown\n");
    folder.write("sys/bus/pci/devices/0000:05:00.0/class", "0x100000\n");
  }
  void link(const std::string& to, const std::string& name) const {
    fs::create_directories((folder.path() / name).parent_path());
    fs::create_symlink(to, folder.path() / name);
  }
  void tool(const std::string& name, const std::string& text) const {
    fs::permissions(folder.write("usr/bin/" + name, "#!/bin/sh\n" + text), fs::perms::owner_all);
  }
  void settings(const std::string& model, const std::string& engine) const {
    tool("mstconfig",
         "echo 'Configurations:      Default    Current    Next Boot'\n"
         "echo '*     INTERNAL_CPU_MODEL   EMBEDDED_CPU(1)  " +
             model +
             "  EMBEDDED_CPU(1)'\n"
             "echo '      INTERNAL_CPU_OFFLOAD_ENGINE  ENABLED(0)  " +
             engine + "  ENABLED(0)'\n");
  }
  [[nodiscard]] json described() const { return dpubench::agent::describe(folder.path(), folder.path()); }
  [[nodiscard]] json dpu() const { return described().at("dpu"); }
  TemporaryDirectory folder;
};

TEST_F(BlueField, IsDescribed) {
  const json all = described();
  EXPECT_EQ(all["schema"], "dpubench.target/1");
  EXPECT_EQ(all["cpus"]["usable"], (json{0, 2, 1, 3}));  // one of each core first
  EXPECT_EQ(all["cpus"]["cores"], 2);
  EXPECT_EQ(all["cpus"]["isolated"], (json{2, 3}));
  EXPECT_EQ(all["memory_bytes"], 16000 * 1024);
  EXPECT_EQ(all["huge_pages"], (json{{{"bytes", 2 << 20}, {"total", 256}, {"free", 200}}}));
  EXPECT_EQ(all["numa_nodes"], (json{{{"node", 0}, {"cpus", {0, 1, 2, 3}}, {"memory_bytes", 16000 * 1024}}}));
  EXPECT_EQ(all["nics"], (json{{{"name", "p0"},
                                {"driver", "mlx5_core"},
                                {"port", "p0"},
                                {"state", "up"},
                                {"speed_mbps", 100000},
                                {"pci", "0000:03:00.0"},
                                {"vendor", "0x15b3"},
                                {"device", "0xa2d6"},
                                {"pcie", {{"generation", 4}, {"width", 8}, {"max_generation", 4}, {"max_width", 16}}}}}));
  ASSERT_EQ(all["accelerators"].size(), 1U);
  EXPECT_EQ(all["accelerators"][0]["pci"], "0000:05:00.0");
  EXPECT_GT(all["disk"]["free_bytes"], 0);
}

TEST_F(BlueField, ModeIsWhatTheFirmwareSays) {
  settings("EMBEDDED_CPU(1)", "ENABLED(0)");
  EXPECT_EQ(dpu()["mode"], "embedded");
  EXPECT_EQ(dpu()["side"], "device");
  EXPECT_EQ(dpu()["model"], "BlueField-2");
  tool("mstprivhost", "echo 'Host configurations'; echo 'level            : RESTRICTED'");
  EXPECT_EQ(dpu()["mode"], "restricted");
  settings("SEPERATED_HOST(0)", "ENABLED(0)");
  EXPECT_EQ(dpu()["mode"], "separated");
  settings("EMBEDDED_CPU(1)", "DISABLED(1)");
  EXPECT_EQ(dpu()["mode"], "NIC");
}

TEST_F(BlueField, WhatCannotBeReadIsSaidSo) {
  EXPECT_EQ(dpu()["mode"], "unknown");
  EXPECT_NE(dpu()["reason"].get<std::string>().find("mstflint"), std::string::npos);
  tool("mlxconfig", "echo '-E- Failed to open device'; exit 3");
  EXPECT_NE(dpu()["reason"].get<std::string>().find("-E- Failed to open device"), std::string::npos);
  tool("mlxconfig", "exec sleep 600");
  EXPECT_NE(dpu()["reason"].get<std::string>().find("no answer"), std::string::npos);
}

TEST_F(BlueField, ARepresentorOfTheHostTellsTheEmbeddedMode) {
  folder.write("sys/class/net/pf0hpf/phys_port_name", "pf0hpf\n");
  link("../../../devices/pci0000:00/0000:03:00.0", "sys/class/net/pf0hpf/device");
  EXPECT_EQ(dpu()["mode"], "embedded");
  EXPECT_NE(dpu()["how"].get<std::string>().find("pf0hpf"), std::string::npos);
}

TEST(AgentDescribe, AMachineOfWhichNothingCanBeReadIsStillDescribed) {
  const TemporaryDirectory empty;
  const json all = dpubench::agent::describe(empty.path(), empty.path() / "missing");
  EXPECT_EQ(all["nics"], json::array());
  EXPECT_FALSE(all.contains("dpu"));
  EXPECT_FALSE(all["disk"].contains("free_bytes"));
}

TEST_F(Agents, ThisMachineIsDescribed) {
  const Installed installed;
  Agent agent(installed);
  agent.request({{"do", "describe"}});
  const json all = agent.expect('A');
  EXPECT_FALSE(all["cpus"]["usable"].empty());
  EXPECT_GT(all["memory_bytes"], 0);
  EXPECT_EQ(all["disk"]["path"], installed.home().string());
}

}  // namespace
