#include "agent/helper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "agent/process.hpp"
#include "base/error.hpp"

namespace dpubench::agent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxCaptured = std::size_t{1} << 16;

}  // namespace

Output capture(const std::vector<std::string>& words, int limit_ms) {
  const Command command = {words, {}};
  const std::vector<char*> arguments = words_of(command);
  Pipe out = make_pipe();
  Pipe failure = make_pipe();
  const Fd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw Error(std::string("cannot start a process: fork: ") + std::strerror(errno));
  if (pid == 0) become(arguments, command, nothing.get(), out.write.get(), out.write.get(), failure.write.get(), parent);
  failure.write.reset();
  out.write.reset();
  await_begin(failure.read.get(), pid, words[0]);
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
