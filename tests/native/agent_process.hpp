// The agent of this build as a process, and what its tests share.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "agent/connection.hpp"
#include "agent/serve.hpp"
#include "temporary_directory.hpp"

namespace dpubench::test {

namespace fs = std::filesystem;
using agent::encode;
using agent::Frame;
using agent::kGreeting;
using nlohmann::json;

inline constexpr int kPatienceMs = 20'000;

inline std::string agent_of_this_build() {
  const char* agent = std::getenv("DPUBENCH_AGENT");
  if (agent == nullptr) throw std::runtime_error("DPUBENCH_AGENT is not set: run this through `meson test`");
  return agent;
}

/// Programs of another architecture start only under the emulator that runs these tests, not from within it.
inline bool can_start(const std::string& program) {
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
    folder_.write(agent::kMarker, "");
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
  /// Return the memory that it has, in KiB (proc(5), statm).
  [[nodiscard]] std::size_t resident_kib() const {
    std::ifstream statm("/proc/" + std::to_string(pid_) + "/statm");
    std::size_t whole = 0;
    std::size_t resident = 0;
    statm >> whole >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 1024;
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

inline bool runs(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(in, line);
  const auto after = line.rfind(')');
  return after != std::string::npos && line[after + 2] != 'Z';
}

inline bool ends(pid_t pid) {
  for (int i = 0; i < kPatienceMs / 5 && runs(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return !runs(pid);
}

/// Reads lines of process ids that a script printed.
inline std::vector<pid_t> pids_of(Agent& agent, std::size_t count) {
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

/// Tests that start it.
class Agents : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_start(agent_of_this_build())) GTEST_SKIP() << "this system does not start programs of this architecture";
  }
};

}  // namespace dpubench::test
