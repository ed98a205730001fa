#include "tools/supervised.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/descendants.hpp"
#include "base/error.hpp"

namespace dpubench::tools {
namespace {

constexpr std::size_t kMostOutput = std::size_t{256} << 10;
constexpr std::size_t kMostErrors = std::size_t{64} << 10;
/// Time to wait for killed processes. They end at once unless the kernel holds them.
constexpr auto kKillLimit = std::chrono::seconds(5);

std::pair<int, int> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(std::string("cannot make a pipe: ") + std::strerror(errno));
  return {ends[0], ends[1]};
}

void close_all(std::initializer_list<int> descriptors) {
  for (const int fd : descriptors) {
    if (fd >= 0) close(fd);
  }
}

/// Become the user nobody. @returns whether that was possible, which it is for root
bool give_up_rights() {
  return setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 && setresuid(kNobody, kNobody, kNobody) == 0;
}

[[noreturn]] void become(const std::vector<char*>& words, const Spec& spec, int out, int err, int failure, pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  setsid();
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  setenv("LC_ALL", "C", 1);  // numbers and messages are read by a program
  const bool there = spec.folder.empty() || chdir(spec.folder.c_str()) == 0;
  const bool allowed = there && (!spec.unprivileged || geteuid() != 0 || give_up_rights());
  // If the supervisor itself is killed, nobody else is left to end this process. A change of user would take this back.
  if (allowed) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  if (allowed) execv(words[0], words.data());
  const int reason = errno;
  (void)!write(failure, &reason, sizeof reason);
  _exit(127);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

void Collected::add(std::string_view bytes) {
  const std::size_t half = most_ / 2;
  if (begin_.size() < half) {
    const std::size_t taken = std::min(bytes.size(), half - begin_.size());
    begin_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
  }
  end_.append(bytes);
  if (end_.size() > most_) {  // rarely, so that a flood is not moved byte by byte
    end_.erase(0, end_.size() - half);
    cut_ = true;
  }
}

Text Collected::take() {
  const std::size_t half = most_ / 2;
  if (end_.size() > half) {
    end_.erase(0, end_.size() - half);
    cut_ = true;
  }
  return {begin_ + end_, cut_};
}

Supervised::Supervised(const Spec& spec)
    : started_(Clock::now()),
      limit_(started_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(spec.limit_s))),
      collected_out_(kMostOutput),
      collected_err_(kMostErrors) {
  adopt_orphans();
  std::vector<char*> words;
  for (const std::string& word : spec.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const auto [out_read, out_write] = make_pipe();
  const auto [err_read, err_write] = make_pipe();
  const auto [failure_read, failure_write] = make_pipe();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(words, spec, out_write, err_write, failure_write, parent);
  const int fork_error = errno;
  close_all({out_write, err_write, failure_write});
  int reason = 0;
  ssize_t got = -1;
  while (pid_ > 0 && (got = read(failure_read, &reason, sizeof reason)) < 0 && errno == EINTR) {
  }
  close(failure_read);
  if (pid_ < 0 || got == static_cast<ssize_t>(sizeof reason)) {
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    close_all({out_read, err_read});
    throw Error(spec.words[0] + ": cannot be started: " + std::strerror(pid_ < 0 ? fork_error : reason));
  }
  out_ = out_read;
  err_ = err_read;
  for (const int fd : {out_, err_}) (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

Supervised::~Supervised() {
  bool alive = false;
  end_descendants(pid_, kKillLimit, alive);
  close_all({out_, err_});
}

void Supervised::read_from(int& fd, Collected& into) {
  std::array<char, 1 << 16> bytes;
  while (fd >= 0) {
    const ssize_t got = read(fd, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got > 0) {
      into.add({bytes.data(), static_cast<std::size_t>(got)});
      continue;
    }
    close(std::exchange(fd, -1));
  }
}

void Supervised::attend() {
  read_from(out_, collected_out_);
  read_from(err_, collected_err_);
  if (ended_) return;
  int status = 0;
  for (pid_t who = 0; (who = wait4(-1, &status, WNOHANG, &usage_)) > 0;) {
    if (who != pid_) continue;  // an orphan that this process adopted
    ended_ = true;
    wait_status_ = status;
    stopped_ = Clock::now();
    return;
  }
  const auto now = Clock::now();
  over_time_ = over_time_ || now > limit_;
  if (over_time_ || (patience_over_ && now > *patience_over_)) kill(pid_, SIGKILL);
}

void Supervised::ask_to_end(std::chrono::milliseconds patience) {
  if (ended_ || patience_over_) return;
  kill(pid_, SIGTERM);
  patience_over_ = Clock::now() + patience;
}

Ended Supervised::finish() {
  bool alive = false;
  end_descendants(pid_, kKillLimit, alive);
  read_from(out_, collected_out_);
  read_from(err_, collected_err_);
  Ended told;
  if (WIFEXITED(wait_status_)) told.status = WEXITSTATUS(wait_status_);
  if (WIFSIGNALED(wait_status_)) told.signal = WTERMSIG(wait_status_);
  told.over_time = over_time_;
  told.elapsed_s = std::chrono::duration<double>(stopped_ - started_).count();
  told.user_s = seconds(usage_.ru_utime);
  told.system_s = seconds(usage_.ru_stime);
  told.out = collected_out_.take();
  told.err = collected_err_.take();
  return told;
}

Ended run_to_end(const Spec& spec) {
  Supervised running(spec);
  while (!running.ended()) {
    std::array<pollfd, 2> fds{{{running.out_fd(), POLLIN, 0}, {running.err_fd(), POLLIN, 0}}};
    poll(fds.data(), fds.size(), Supervised::kAttendMs);
    running.attend();
  }
  return running.finish();
}

}  // namespace dpubench::tools
