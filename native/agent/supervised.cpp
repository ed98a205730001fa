#include "agent/supervised.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.hpp"

namespace dpubench::agent {
namespace {

namespace fs = std::filesystem;

/// Time for a supervisor to kill its program: a second more than it waits for a process that the kernel holds.
constexpr int kEndLimitMs = 6'000;

/// The supervisor's ends of the pipes.
struct Ends {
  int in;
  int out;
  int err;
  int report;
  int failure;
};

/// Close all descriptors of the agent but the supervisor's own: an end of another program's pipe would keep that open.
void keep_only(const Ends& ends) {
  std::vector<int> open;
  std::error_code error;
  for (fs::directory_iterator it("/proc/self/fd", error), end; !error && it != end; it.increment(error))
    open.push_back(std::stoi(it->path().filename().string()));
  const std::array kept = {STDERR_FILENO, ends.in, ends.out, ends.err, ends.report, ends.failure};
  for (const int fd : open) {
    if (std::find(kept.begin(), kept.end(), fd) == kept.end()) close(fd);
  }
}

[[noreturn]] void give_up(int failure) {
  const int reason = errno;
  (void)!write(failure, &reason, sizeof reason);
  _exit(1);
}

/// Run the program, and end what it leaves behind. SIGTERM ends the program. The agent has blocked that signal and SIGCHLD.
[[noreturn]] void supervise(const std::vector<char*>& words, const Command& command, const Ends& ends, pid_t agent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // The program ends with its supervisor, and the supervisor with the agent.
  if (getppid() != agent) _exit(1);
  keep_only(ends);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) give_up(ends.failure);
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid < 0) give_up(ends.failure);
  if (pid == 0) become(words, command, ends.in, ends.out, ends.err, ends.failure, self);
  for (const int fd : {ends.in, ends.out, ends.err, ends.failure}) close(fd);
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  sigaddset(&watched, SIGTERM);
  std::optional<int> status;
  while (!status && sigwaitinfo(&watched, nullptr) != SIGTERM) {
    // Adopted descendants end here too. Only the program's own status matters.
    int ended = 0;
    for (pid_t who = 0; (who = waitpid(-1, &ended, WNOHANG)) > 0;) {
      if (who == pid) status = ended;
    }
  }
  const std::optional<int> killed = end_children({}, pid);
  const int told = status.value_or(killed.value_or(SIGKILL));  // the wait status of a killed process is the signal's number
  (void)!write(ends.report, &told, sizeof told);
  _exit(0);
}

}  // namespace

Supervised::Supervised(const Command& command) {
  Pipe input = make_pipe();
  Pipe output = make_pipe();
  Pipe errors = make_pipe();
  Pipe report = make_pipe();
  Pipe failure = make_pipe();
  const std::vector<char*> words = words_of(command);
  const pid_t agent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw Error(std::string("cannot start a process: fork: ") + std::strerror(errno));
  if (pid_ == 0) {
    supervise(words, command, {input.read.get(), output.write.get(), errors.write.get(), report.write.get(), failure.write.get()},
              agent);
  }
  failure.write.reset();
  await_begin(failure.read.get(), pid_, command.words[0]);
  in = std::move(input.write);
  out = std::move(output.read);
  err = std::move(errors.read);
  report_ = std::move(report.read);
  for (const Fd* fd : {&in, &out, &err}) (void)fcntl(fd->get(), F_SETFL, fcntl(fd->get(), F_GETFL) | O_NONBLOCK);
}

Supervised::~Supervised() {
  if (pid_ < 0) return;
  end();
  pollfd waited{report_.get(), POLLIN, 0};
  int ready = 0;
  do ready = poll(&waited, 1, kEndLimitMs);
  while (ready < 0 && errno == EINTR);
  if (ready <= 0) kill(pid_, SIGKILL);  // the kernel holds one of its processes
  waitpid(pid_, nullptr, 0);
}

void Supervised::end() const {
  if (pid_ > 0) kill(pid_, SIGTERM);  // not reaped yet: the number is still its own
}

std::optional<int> Supervised::take_status() {
  int status = 0;
  ssize_t got = 0;
  do got = read(report_.get(), &status, sizeof status);
  while (got < 0 && errno == EINTR);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  report_.reset();
  return got == static_cast<ssize_t>(sizeof status) ? std::optional(status) : std::nullopt;
}

}  // namespace dpubench::agent
