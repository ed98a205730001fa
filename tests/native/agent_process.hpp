// The agent of this build as a process, and what its tests share.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
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
using agent::kHeaderBytes;
using agent::kWindow;
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
  void send(char kind, const std::string& payload, std::uint16_t program = 0) const {
    const std::scoped_lock lock(writing_);
    write_raw(encode(kind, payload, program));
  }
  void request(const json& what, std::uint16_t program = 0) const { send(Frame::kRequest, what.dump(), program); }
  void run(const std::string& program, std::uint16_t number = 1) const {
    request({{"do", "run"}, {"program", program}, {"arguments", json::array()}, {"environment", json::object()}}, number);
  }
  /// Send input to a program, no faster than it takes it. Another thread must receive meanwhile.
  void give(const std::string& text, std::uint16_t program = 1) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t room = kWindow + taken_[program] - at;
      const std::string piece = text.substr(at, std::min(room, text.size()));
      if (!piece.empty()) send(Frame::kData, piece, program);
      at += piece.size();
      if (piece.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
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

  /// The next frame but those that count taken bytes; one of kind 0 at the end of output. Output is taken at once.
  Frame receive() {
    for (;;) {
      Frame frame = receive_any();
      if (frame.kind == Frame::kTaken) {
        taken_[frame.program] += agent::decode_count(frame.payload);
        continue;
      }
      if ((frame.kind == Frame::kOutput || frame.kind == Frame::kErrors) && takes_output)
        send(Frame::kTaken, agent::encode_count(frame.payload.size()), frame.program);
      return frame;
    }
  }
  Frame receive_any() {
    for (;;) {
      if (!greeted_ && buffer_.size() >= kGreeting.size()) {
        EXPECT_EQ(buffer_.substr(0, kGreeting.size()), kGreeting);
        buffer_.erase(0, kGreeting.size());
        greeted_ = true;
      }
      if (greeted_ && buffer_.size() >= kHeaderBytes) {
        const auto program = static_cast<std::uint16_t>(agent::decode_count(std::string_view(buffer_).substr(1, 2)));
        const std::size_t length = agent::decode_count(std::string_view(buffer_).substr(3));
        if (buffer_.size() >= kHeaderBytes + length) {
          Frame frame{buffer_[0], program, buffer_.substr(kHeaderBytes, length)};
          buffer_.erase(0, kHeaderBytes + length);
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
  /// All output of a program and how it ended. Output of others is left out.
  std::pair<std::string, json> output(std::uint16_t program = 1) {
    std::string text;
    for (;;) {
      Frame frame = receive();
      if (frame.kind == 0) return {text, nullptr};
      if (frame.program != program || frame.kind == Frame::kErrors) continue;
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
  mutable std::mutex writing_;
  std::array<std::atomic<std::size_t>, 8> taken_{};  ///< bytes of input that each program's pipe took

 public:
  bool takes_output = true;  ///< whether received output counts as taken
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
inline std::vector<pid_t> pids_of(Agent& agent, std::size_t count, std::uint16_t program = 1) {
  std::string text;
  while (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) < count) {
    const Frame frame = agent.receive();
    if (frame.program != program) continue;
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
