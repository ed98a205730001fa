#include "agent/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/error.hpp"

namespace dpubench::agent {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunk = std::size_t{1} << 16;
/// Most bytes of output that wait for the connection. Beyond that the program has to wait.
constexpr std::size_t kMaxQueued = std::size_t{1} << 18;
constexpr std::size_t kMaxCaptured = std::size_t{1} << 16;
/// Time to wait for killed processes. They end at once unless the kernel holds them (a dead disk, a dead device).
constexpr auto kKillLimit = std::chrono::seconds(5);

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }

 private:
  int fd_;
};

struct Pipe {
  Fd read;
  Fd write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(std::string("cannot make a pipe: ") + std::strerror(errno));
  return {Fd(ends[0]), Fd(ends[1])};
}

void set_nonblocking(int fd) {
  (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

[[noreturn]] void become(const std::vector<char*>& words, const Command& command, int in, int out, int err, int failure,
                         pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  setsid();
  // If the agent itself is killed, nobody else is left to end this process.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  if (err != STDERR_FILENO) dup2(err, STDERR_FILENO);
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  execv(words[0], words.data());
  const int reason = errno;
  (void)!write(failure, &reason, sizeof reason);
  _exit(127);
}

/// Start the command. @returns its process number @throws Error with the kernel's reason
pid_t start(const Command& command, int in, int out, int err) {
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  Pipe failure = make_pipe();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw Error(std::string("cannot start a process: fork: ") + std::strerror(errno));
  if (pid == 0) become(words, command, in, out, err, failure.write.get(), parent);
  failure.write.reset();
  int reason = 0;
  ssize_t got = 0;
  do got = read(failure.read.get(), &reason, sizeof reason);
  while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof reason)) {
    waitpid(pid, nullptr, 0);
    throw Error(command.words[0] + ": cannot be started: " + std::strerror(reason));
  }
  return pid;
}

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

/// Kill everything that this process has started. Orphans of a killed process become our children (PR_SET_CHILD_SUBREAPER), and
/// the loop kills them next. @returns the wait status of `pid` if nobody has taken it yet
std::optional<int> end_all(pid_t pid) {
  std::optional<int> status;
  const auto given_up = Clock::now() + kKillLimit;
  kill(-pid, SIGKILL);
  for (;;) {
    for (const pid_t child : children()) kill(child, SIGKILL);
    int ended = 0;
    pid_t who = 0;
    while ((who = waitpid(-1, &ended, WNOHANG)) > 0) {
      if (who == pid) status = ended;
    }
    if (who < 0 && errno == ECHILD) return status;
    if (Clock::now() > given_up) {
      std::fprintf(stderr, "dpubench-agent: process %d or one that it started cannot be killed: the kernel holds it\n",
                   static_cast<int>(pid));
      return status;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return nlohmann::json{{"signal", WTERMSIG(status)}}.dump();
  return nlohmann::json{{"status", WEXITSTATUS(status)}}.dump();
}

/// A guard that makes signals readable instead of deadly while it lives. Without it, programs could outlive a killed agent.
class Signals {
 public:
  Signals() {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int number : {SIGCHLD, SIGHUP, SIGTERM, SIGINT}) sigaddset(&watched, number);
    if (sigprocmask(SIG_BLOCK, &watched, &before_) == 0) fd_ = Fd(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_.open()) throw Error(std::string("signals cannot be watched: ") + std::strerror(errno));
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  sigset_t before_{};
  Fd fd_;
};

/// A running program with its input and output.
class Session {
 public:
  Session(Connection& connection, const Command& command, int signals) : connection_(connection), signals_(signals) {
    Pipe in = make_pipe();
    Pipe out = make_pipe();
    pid_ = start(command, in.read.get(), out.write.get(), STDERR_FILENO);
    to_program_ = std::move(in.write);
    from_program_ = std::move(out.read);
    set_nonblocking(to_program_.get());
    set_nonblocking(from_program_.get());
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (!ended_) end_all(pid_);
  }

  void run() {
    while (!ended_) step(-1);
    // Nobody is left to write, so the output now has an end.
    while (from_program_.open() || connection_.queued() > 0) step(kIdleLimitMs);
    connection_.send(Frame::kExit, how_it_ended(status_));
  }

 private:
  void step(int timeout_ms) {
    // Several frames may arrive in one read. No descriptor announces those that are already in the buffer, so take them first.
    if (!ended_) take_frames();
    const bool takes_input = waiting_.empty() && !ended_;
    // POLLRDHUP: the other side closed, even if data is still unread. poll() skips a descriptor of -1.
    std::array<pollfd, 5> fds = {{
        {connection_.in(), static_cast<short>(POLLRDHUP | (takes_input ? POLLIN : 0)), 0},
        {connection_.out(), static_cast<short>(connection_.queued() > 0 ? POLLOUT : 0), 0},
        {connection_.queued() < kMaxQueued ? from_program_.get() : -1, POLLIN, 0},
        {waiting_.empty() ? -1 : to_program_.get(), POLLOUT, 0},
        {signals_, POLLIN, 0},
    }};
    const int ready = poll(fds.data(), fds.size(), timeout_ms);
    if (ready < 0 && errno != EINTR) throw Ended(std::string("poll: ") + std::strerror(errno));
    if (ready < 0) return;
    if (ready == 0) throw Ended("the other side read nothing for 10 minutes");
    if ((fds[0].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) throw Ended("the other side closed the connection");
    if ((fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) throw Ended("nobody reads the output any more");
    if ((fds[0].revents & POLLIN) != 0) connection_.read_some();
    if (fds[3].revents != 0) feed_program();
    if (fds[2].revents != 0) pass_output();
    if (fds[1].revents != 0 || connection_.queued() > 0) connection_.write_some();
    if ((fds[4].revents & POLLIN) != 0) take_signal();
  }

  void take_frames() {
    while (waiting_.empty()) {
      auto frame = connection_.next();
      if (!frame) return;
      if (frame->kind == Frame::kRequest || input_over_) throw Error("unexpected frame: a program is running");
      if (frame->kind == Frame::kEnd) {
        input_over_ = true;
        to_program_.reset();
        return;
      }
      waiting_ = std::move(frame->payload);
      feed_program();
    }
  }

  void feed_program() {
    while (!waiting_.empty()) {
      const ssize_t sent = to_program_.open() ? write(to_program_.get(), waiting_.data(), waiting_.size()) : -1;
      if (to_program_.open() && sent < 0 && errno == EINTR) continue;
      if (to_program_.open() && sent < 0 && errno == EAGAIN) return;
      if (sent < 0) {  // the program closed its input; its output and exit status tell more
        waiting_.clear();
        to_program_.reset();
        return;
      }
      waiting_.erase(0, static_cast<std::size_t>(sent));
    }
  }

  void pass_output() {
    std::array<char, kChunk> bytes;
    const ssize_t got = read(from_program_.get(), bytes.data(), bytes.size());
    if (got > 0) return connection_.queue(Frame::kOutput, {bytes.data(), static_cast<std::size_t>(got)});
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) from_program_.reset();
  }

  void take_signal() {
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return;
    if (info.ssi_signo != SIGCHLD) throw Ended(std::string("ended by ") + strsignal(static_cast<int>(info.ssi_signo)));
    // Adopted descendants end here too. Only the program's own exit status matters.
    int status = 0;
    for (pid_t who = 0; (who = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (who != pid_) continue;
      status_ = status;
      ended_ = true;
    }
    if (ended_) {
      end_all(pid_);
      to_program_.reset();
      waiting_.clear();
    }
  }

  Connection& connection_;
  int signals_;
  pid_t pid_ = -1;
  Fd to_program_;
  Fd from_program_;
  std::string waiting_;  ///< bytes for the program's standard input
  bool input_over_ = false;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace

void run_program(Connection& connection, const Command& command) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    throw Error(std::string("cannot supervise programs: prctl: ") + std::strerror(errno));
  const Signals signals;
  Session(connection, command, signals.fd()).run();
}

Output capture(const std::vector<std::string>& words, int limit_ms) {
  Pipe out = make_pipe();
  const Fd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const pid_t pid = start({words, {}}, nothing.get(), out.write.get(), out.write.get());
  out.write.reset();
  Output result;
  const auto over = Clock::now() + std::chrono::milliseconds(limit_ms);
  std::array<char, 4096> bytes;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(over - Clock::now()).count();
    pollfd waited{out.read.get(), POLLIN, 0};
    if (left <= 0 || poll(&waited, 1, static_cast<int>(left)) == 0) break;
    const ssize_t got = read(out.read.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (result.text.size() < kMaxCaptured) result.text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  pid_t who = 0;
  while ((who = waitpid(pid, &status, WNOHANG)) == 0 && Clock::now() < over)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  kill(-pid, SIGKILL);
  if (who == 0) waitpid(pid, &status, 0);
  if (who == pid && WIFEXITED(status)) result.status = WEXITSTATUS(status);
  return result;
}

}  // namespace dpubench::agent
