#include "base/descendants.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.hpp"

namespace dpubench {
namespace {

namespace fs = std::filesystem;

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

void adopt_orphans() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    throw Error(std::string("cannot supervise programs: prctl: ") + std::strerror(errno));
}

std::optional<int> end_descendants(pid_t pid, std::chrono::milliseconds limit, bool& alive) {
  std::optional<int> status;
  const auto given_up = std::chrono::steady_clock::now() + limit;
  alive = false;
  kill(-pid, SIGKILL);
  for (;;) {
    for (const pid_t child : children()) kill(child, SIGKILL);
    int ended = 0;
    pid_t who = 0;
    while ((who = waitpid(-1, &ended, WNOHANG)) > 0) {
      if (who == pid) status = ended;
    }
    if (who < 0 && errno == ECHILD) return status;
    if (std::chrono::steady_clock::now() > given_up) {
      alive = true;
      return status;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace dpubench
