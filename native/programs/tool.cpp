// dpubench-tool: runs an outside program (stress-ng, iperf3) on this machine. It reads a job and commands from standard input and
// writes events to standard output (docs/tools.md).

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "measure/clock.hpp"
#include "measure/cpu_times.hpp"
#include "programs/frame.hpp"
#include "protocol/commands.hpp"
#include "tools/folder.hpp"
#include "tools/job.hpp"
#include "tools/known.hpp"
#include "tools/supervised.hpp"

namespace {

using namespace dpubench::tools;
using dpubench::Error;
using dpubench::protocol::Commands;
using dpubench::protocol::EventWriter;
using nlohmann::json;

/// Time that a program gets to end by itself.
constexpr auto kPatience = std::chrono::seconds(3);
constexpr std::size_t kMostFileBytes = std::size_t{512} << 10;

/// Return the start of a file that the program wrote; null if it wrote none.
json content(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, error))) return nullptr;
  std::ifstream in(file, std::ios::binary);
  std::string text(kMostFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMostFileBytes)
    throw Error(file.filename().string() + ": the program wrote more than " + std::to_string(kMostFileBytes) + " bytes");
  return text;
}

/// One run of an outside program: it starts, obeys commands, and ends.
class Run {
 public:
  /// @param out_fd  target of the events: when its reader goes away, the program ends
  Run(const ToolJob& job, Commands& commands, EventWriter& events, int out_fd)
      : job_(job), commands_(commands), events_(events), out_fd_(out_fd) {}

  void carry_out() {
    const Tool& tool = find_tool(job_.tool);
    const std::filesystem::path path = path_of(tool);
    if (path.empty()) throw Error(job_.tool + ": is not installed here: install package " + std::string(tool.package));
    Spec spec{{path.string()}, folder_.path(), job_.time_limit_s, job_.unprivileged};
    if (job_.unprivileged) folder_.open_to_nobody();
    spec.words.insert(spec.words.end(), job_.arguments.begin(), job_.arguments.end());
    const json before = dpubench::measure::cpu_times_now();
    Supervised running(spec);
    events_.write({{"event", "started"}, {"pid", running.pid()}});
    while (!running.ended()) {
      const bool heard = wait(running);
      running.attend();
      tell_ready(running);
      while (const auto line = commands_.next_if_any()) obey(*line, running);
      if (!heard || commands_.ended() || events_.closed()) running.ask_to_end(kPatience);
    }
    tell_end(running.finish(), before);
  }

 private:
  /// Wait for something to do. @returns whether somebody still reads the events
  [[nodiscard]] bool wait(const Supervised& running) const {
    const auto [signals, input] = commands_.descriptors();
    std::array<pollfd, 5> fds{{{signals, POLLIN, 0},
                               {input, POLLIN, 0},
                               {running.out_fd(), POLLIN, 0},
                               {running.err_fd(), POLLIN, 0},
                               {out_fd_, 0, 0}}};
    poll(fds.data(), fds.size(), Supervised::kAttendMs);
    return (fds[4].revents & (POLLERR | POLLHUP)) == 0;
  }

  void tell_ready(const Supervised& running) {
    if (told_ready_ || job_.ready.empty() || !running.output().contains(job_.ready)) return;
    told_ready_ = true;
    events_.write({{"event", "listening"}});
  }

  void obey(const std::string& line, Supervised& running) {
    switch (parse_command(line)) {
      case Command::kCpu: {
        json times = dpubench::measure::cpu_times_now();
        times["event"] = "cpu";
        events_.write(times);
        break;
      }
      case Command::kEnd:
        running.ask_to_end(kPatience);
        break;
    }
  }

  void tell_end(const Ended& ended, const json& cpu_before) {
    json files = json::object();
    for (const std::string& name : job_.collect) {
      if (json text = content(folder_.path() / name); !text.is_null()) files[name] = std::move(text);
    }
    events_.write({{"event", "ended"},
                   {"status", ended.status},
                   {"signal", ended.signal},
                   {"over_time", ended.over_time},
                   {"elapsed_s", ended.elapsed_s},
                   {"cpu_before", cpu_before},
                   {"cpu_after", dpubench::measure::cpu_times_now()},
                   {"user_s", ended.user_s},
                   {"system_s", ended.system_s},
                   {"stdout", ended.out.text},
                   {"stderr", ended.err.text},
                   {"cut", ended.out.cut || ended.err.cut},
                   {"files", std::move(files)}});
  }

  const ToolJob& job_;
  Commands& commands_;
  EventWriter& events_;
  int out_fd_;
  WorkingFolder folder_;
  bool told_ready_ = false;
};

class ToolProgram final : public dpubench::programs::Program {
 public:
  ToolProgram()
      : Program("dpubench-tool",
                "Runs an outside program: reads a job (JSON) and commands from standard input and writes events (NDJSON) to "
                "standard output.",
                "print the programs that it can run as one hello event") {}

 private:
  [[nodiscard]] bool has_engines() const override { return false; }
  void begin() override { commands_.emplace(STDIN_FILENO); }
  [[nodiscard]] json catalog(const dpubench::EngineCatalog& /*engines*/) const override {
    json found = dpubench::tools::catalog();
    found["job"] = kJobSchema;
    return found;
  }

  int run(const dpubench::EngineCatalog& /*engines*/, EventWriter& events, int out_fd) override {
    ToolJob job;
    try {
      const auto text = commands_->next();
      if (!text) throw Error("standard input ended before a job came");
      job = parse_tool_job(*text);
    } catch (const Error& error) {
      return refuse(events, error.what());
    }
    try {
      Run(job, *commands_, events, out_fd).carry_out();
    } catch (const Error& error) {
      events.failure("tool", error.what());
      return dpubench::programs::kFailed;
    }
    return 0;
  }

  std::optional<Commands> commands_;
};

/// Wait for the child that does the work, and pass signals on to it. Return its exit status.
int wait_for(pid_t worker, const sigset_t& watched) {
  for (;;) {
    int number = 0;
    if (sigwait(&watched, &number) != 0) return dpubench::programs::kFailed;
    if (number != SIGCHLD) {
      kill(worker, number);
      continue;
    }
    int status = 0;
    if (waitpid(worker, &status, WNOHANG) != worker) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : dpubench::programs::kFailed;
  }
}

}  // namespace

// Whoever starts this program kills its process group when something went wrong, and outside programs leave that group. So a
// child in a session of its own does the work. It gets SIGTERM when its parent dies, and then ends everything that it has
// started.
int main(int argc, char** argv) {
  sigset_t watched;
  sigset_t before;
  sigemptyset(&watched);
  for (const int number : {SIGCHLD, SIGHUP, SIGTERM, SIGINT}) sigaddset(&watched, number);
  sigprocmask(SIG_BLOCK, &watched, &before);
  const pid_t parent = getpid();
  const pid_t worker = fork();
  if (worker < 0) {
    std::cerr << "dpubench-tool: cannot start a process: " << std::strerror(errno) << '\n';
    return dpubench::programs::kFailed;
  }
  if (worker > 0) return wait_for(worker, watched);
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) return dpubench::programs::kFailed;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return ToolProgram().main(argc, argv);
}
