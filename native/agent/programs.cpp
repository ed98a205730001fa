#include "agent/programs.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "agent/supervised.hpp"
#include "base/error.hpp"

namespace dpubench::agent {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16;
/// Bytes that wait for the connection beyond which no more requests are read: the windows of all programs.
constexpr std::size_t kMaxQueued = kMaxPrograms * kWindow;

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
    if (sigprocmask(SIG_BLOCK, &watched, &before_) == 0) {
      sigdelset(&watched, SIGCHLD);  // A supervisor reports by a pipe; it needs the signal to be blocked from its beginning.
      fd_ = Fd(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    }
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

/// A running program, and the data on its way from and to it.
struct Program {
  explicit Program(const Command& command) : process(command) {}

  /// Return whether it has ended and all of its output was passed on.
  [[nodiscard]] bool over() const { return has_ended && !process.out.open() && !process.err.open(); }

  Supervised process;
  std::string waiting;           ///< bytes for its standard input
  bool input_over = false;       ///< whether its standard input closes after these
  std::size_t credit = kWindow;  ///< bytes of output and errors that the other side still takes
  bool has_ended = false;
  int status = 0;
};

class Programs {
 public:
  Programs(Connection& connection, const ReadCommand& read_command) : connection_(connection), read_command_(read_command) {}
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;
  ~Programs() {
    for (const auto& [number, program] : programs_) program.process.end();  // all at once; the destructors wait
  }

  [[noreturn]] void run(const Frame& first) {
    take(first);
    for (;;) {
      // Several frames may arrive in one read. No descriptor announces those that are already in the buffer, so take them first.
      while (const auto frame = connection_.next()) take(*frame);
      tell_ends();
      step();
    }
  }

 private:
  void take(const Frame& frame) {
    if (frame.kind == Frame::kRequest) return start(frame);
    if (frame.program == 0 || frame.program > last_)
      throw Error("a frame for program " + std::to_string(frame.program) + ", which was never started");
    const auto found = programs_.find(frame.program);
    if (found == programs_.end()) return;  // it has ended, and the other side did not know yet
    Program& program = found->second;
    if (frame.kind == Frame::kData) {
      if (program.input_over || program.waiting.size() + frame.payload.size() > kWindow)
        throw Error("program " + std::to_string(frame.program) + " got more input than it takes");
      program.waiting += frame.payload;
      feed(frame.program, program);
    } else if (frame.kind == Frame::kEnd) {
      program.input_over = true;
      feed(frame.program, program);
    } else if (frame.kind == Frame::kKill) {
      program.process.end();
      program.process.out.reset();  // nobody wants to know what it still says
      program.process.err.reset();
    } else {
      program.credit += decode_count(frame.payload);
      if (frame.payload.size() != 4 || program.credit > kWindow)
        throw Error("the output of program " + std::to_string(frame.program) + " was not counted right");
    }
  }

  void start(const Frame& frame) {
    if (frame.program <= last_) throw Error("a request for program " + std::to_string(frame.program) + ", which is no new one");
    last_ = frame.program;
    try {
      if (programs_.size() == kMaxPrograms) throw Error("more than " + std::to_string(kMaxPrograms) + " programs at once");
      programs_.try_emplace(frame.program, read_command_(frame.payload));
    } catch (const Error& error) {
      const nlohmann::json fault = {{"message", error.what()}};
      connection_.queue(Frame::kFault, fault.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), frame.program);
    }
  }

  void tell_ends() {
    for (auto it = programs_.begin(); it != programs_.end();) {
      if (it->second.over()) {
        connection_.queue(Frame::kExit, how_it_ended(it->second.status), it->first);
        it = programs_.erase(it);
      } else {
        ++it;
      }
    }
  }

  void step() {
    // POLLRDHUP: the other side closed, even if data is still unread. poll() skips a descriptor of -1.
    const bool reads = connection_.queued() < kMaxQueued;
    std::vector<pollfd> fds = {{connection_.in(), static_cast<short>(POLLRDHUP | (reads ? POLLIN : 0)), 0},
                               {connection_.out(), static_cast<short>(connection_.queued() > 0 ? POLLOUT : 0), 0},
                               {signals_.fd(), POLLIN, 0}};
    bool any_runs = false;
    for (const auto& [number, program] : programs_) {
      any_runs = any_runs || !program.has_ended;
      const bool has_room = program.credit > 0;
      fds.push_back({has_room ? program.process.out.get() : -1, POLLIN, 0});
      fds.push_back({has_room ? program.process.err.get() : -1, POLLIN, 0});
      fds.push_back({program.waiting.empty() ? -1 : program.process.in.get(), POLLOUT, 0});
      fds.push_back({program.process.report(), POLLIN, 0});
    }
    const int ready = poll(fds.data(), fds.size(), any_runs ? -1 : kIdleLimitMs);
    if (ready < 0 && errno != EINTR) throw Ended(std::string("poll: ") + std::strerror(errno));
    if (ready < 0) return;
    if (ready == 0) throw Ended("the other side was silent for 10 minutes");
    if ((fds[0].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) throw Ended("the other side closed the connection");
    if ((fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) throw Ended("nobody reads the output any more");
    if (fds[2].revents != 0) end_by_signal();
    std::size_t at = 3;
    for (auto& [number, program] : programs_) {
      if (fds[at].revents != 0) pass_on(number, program, program.process.out, Frame::kOutput);
      if (fds[at + 1].revents != 0) pass_on(number, program, program.process.err, Frame::kErrors);
      if (fds[at + 2].revents != 0) feed(number, program);
      if (fds[at + 3].revents != 0) take_report(program);
      at += 4;
    }
    if ((fds[0].revents & POLLIN) != 0) connection_.read_some();
    connection_.write_some();
  }

  [[noreturn]] void end_by_signal() const {
    signalfd_siginfo info{};
    (void)!read(signals_.fd(), &info, sizeof info);  // taken: it must not be delivered when the guard goes
    throw Ended(std::string("ended by ") + strsignal(static_cast<int>(info.ssi_signo)));
  }

  void feed(std::uint16_t number, Program& program) {
    const std::size_t before = program.waiting.size();
    while (!program.waiting.empty()) {
      const int fd = program.process.in.get();
      const ssize_t sent = program.process.in.open() ? write(fd, program.waiting.data(), program.waiting.size()) : -1;
      if (program.process.in.open() && sent < 0 && errno == EINTR) continue;
      if (program.process.in.open() && sent < 0 && errno == EAGAIN) break;
      if (sent < 0) {  // the program closed its input; its output and exit status tell more
        program.waiting.clear();
        program.process.in.reset();
      } else {
        program.waiting.erase(0, static_cast<std::size_t>(sent));
      }
    }
    if (const std::size_t taken = before - program.waiting.size(); taken > 0)
      connection_.queue(Frame::kTaken, encode_count(taken), number);
    if (program.input_over && program.waiting.empty()) program.process.in.reset();
  }

  void pass_on(std::uint16_t number, Program& program, Fd& from, char kind) {
    if (program.credit == 0) return;  // the other one of output and errors used it up
    std::array<char, kChunk> bytes;
    const ssize_t got = read(from.get(), bytes.data(), std::min(bytes.size(), program.credit));
    if (got > 0) {
      program.credit -= static_cast<std::size_t>(got);
      connection_.queue(kind, {bytes.data(), static_cast<std::size_t>(got)}, number);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      from.reset();
    }
  }

  void take_report(Program& program) {
    const auto status = program.process.take_status();
    program.has_ended = true;
    program.status = status.value_or(SIGKILL);
    program.process.in.reset();
    program.waiting.clear();
    if (status) return;
    // Without its supervisor, what is left of the program became ours. The other supervisors are ours too.
    std::vector<pid_t> keep;
    for (const auto& [number, other] : programs_) keep.push_back(other.process.supervisor());
    end_children(keep, -1);
  }

  Connection& connection_;
  const ReadCommand& read_command_;
  const Signals signals_;
  std::map<std::uint16_t, Program> programs_;
  std::uint16_t last_ = 0;  ///< number of the latest program
};

}  // namespace

void run_programs(Connection& connection, const Frame& first, const ReadCommand& read_command) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    throw Error(std::string("cannot supervise programs: prctl: ") + std::strerror(errno));
  Programs(connection, read_command).run(first);
}

}  // namespace dpubench::agent
