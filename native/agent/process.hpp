// Starts processes for the agent: pipes, the step from a fork to a program, and the end of everything that was started.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dpubench::agent {

struct Command {
  std::vector<std::string> words;                                ///< the first word is a path
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the agent's own
};

/// A descriptor, or none. The destructor closes it.
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

/// Make a pipe that programs do not inherit. @throws Error
Pipe make_pipe();

/// The words of a command for execv(2), which point into it. Made before a fork: the child should allocate little.
std::vector<char*> words_of(const Command& command);

/// Become the program of `command`, in a session of its own, with these standard descriptors. `words` are words_of(command).
/// When that fails, write the error number to `failure` and exit. End when `parent` has ended, now or later.
[[noreturn]] void become(const std::vector<char*>& words, const Command& command, int in, int out, int err, int failure,
                         pid_t parent);

/// Wait until the program of a forked process has begun. `failure` is the other end of become()'s.
/// @throws Error with the kernel's reason when it could not begin; the forked process `pid` is reaped then
void await_begin(int failure, pid_t pid, const std::string& program);

/// Kill all children of this process but `keep`, and all that they started: orphans of a killed process become children of this
/// process where it is a subreaper (PR_SET_CHILD_SUBREAPER), and are killed next.
/// @returns the wait status of `pid` if that was among them
std::optional<int> end_children(const std::vector<pid_t>& keep, pid_t pid);

}  // namespace dpubench::agent
