#include "agent/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.hpp"

namespace dpubench::agent {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Time to wait for killed processes. They end at once unless the kernel holds them (a dead disk, a dead device).
constexpr auto kKillLimit = std::chrono::seconds(5);

/// Return the direct children of this process.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(it->path() / "stat");
    std::string line;
    std::getline(in, line);
    const auto after = line.rfind(')');  // a program's name may contain any character
    if (after == std::string::npos || after + 4 > line.size()) continue;
    if (std::strtol(line.c_str() + after + 4, nullptr, 10) == getpid()) found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

}  // namespace

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(std::string("cannot make a pipe: ") + std::strerror(errno));
  return {Fd(ends[0]), Fd(ends[1])};
}

std::vector<char*> words_of(const Command& command) {
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  return words;
}

void become(const std::vector<char*>& words, const Command& command, int in, int out, int err, int failure, pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  setsid();
  // If its parent itself is killed, nobody else is left to end this process.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  execv(words[0], words.data());
  const int reason = errno;
  (void)!write(failure, &reason, sizeof reason);
  _exit(127);
}

void await_begin(int failure, pid_t pid, const std::string& program) {
  int reason = 0;
  ssize_t got = 0;
  do got = read(failure, &reason, sizeof reason);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof reason)) return;
  waitpid(pid, nullptr, 0);
  throw Error(program + ": cannot be started: " + std::strerror(reason));
}

std::optional<int> end_children(const std::vector<pid_t>& keep, pid_t pid) {
  std::optional<int> status;
  const auto given_up = Clock::now() + kKillLimit;
  for (;;) {
    bool any = false;
    for (const pid_t child : children()) {
      if (std::find(keep.begin(), keep.end(), child) != keep.end()) continue;
      any = true;
      kill(child, SIGKILL);
      int ended = 0;
      if (waitpid(child, &ended, WNOHANG) == child && child == pid) status = ended;
    }
    if (!any) return status;
    if (Clock::now() > given_up) {
      std::fprintf(stderr, "dpubench-agent: process %d or one that it started cannot be killed: the kernel holds it\n",
                   static_cast<int>(pid));
      return status;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace dpubench::agent
