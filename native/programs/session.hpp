// The frame of programs that take commands after their job: dpubench-server, dpubench-traffic, dpubench-headroom and
// dpubench-offload.
#pragma once

#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "measure/clock.hpp"
#include "programs/frame.hpp"
#include "protocol/commands.hpp"
#include "protocol/deadline.hpp"

namespace dpubench::programs {

inline nlohmann::json event(const char* name, nlohmann::json fields) {
  fields["event"] = name;
  return fields;
}

/// A program that takes commands after its job. @tparam Job with time_limit_s
template <class Job>
class SessionProgram : public Program {
 public:
  using Program::Program;

 protected:
  void begin() final { commands_.emplace(STDIN_FILENO); }
  int run(const EngineCatalog& engines, protocol::EventWriter& events, int out_fd) final;

  /// Parse the job. @throws Error
  [[nodiscard]] virtual Job parse(std::string_view text) const = 0;
  /// Prepare, send `ready`, and obey commands until they end. @param working set after `ready`: later failures belong to the
  /// work, earlier ones to the preparation @param phase current phase, for a failure @return number of trials
  virtual std::uint64_t work(const Job& job, const EngineCatalog& engines, protocol::EventWriter& events, std::string& phase,
                             bool& working) = 0;

  [[nodiscard]] protocol::Commands& commands() { return *commands_; }
  /// Wait for the next line of standard input: the job, then commands. Nothing at the end.
  [[nodiscard]] virtual std::optional<std::string> next_line() { return commands_->next(); }
  /// Send a `progress` event. @param begun the part that is being prepared
  static void tell_begun(protocol::EventWriter& events, std::string_view begun, std::string& phase) {
    phase = begun == "ports" ? "ports" : "prepare";
    events.write({{"event", "progress"}, {"phase", begun}, {"done", 0}, {"of", 1}});
  }

 private:
  std::optional<protocol::Commands> commands_;
};

template <class Job>
int SessionProgram<Job>::run(const EngineCatalog& engines, protocol::EventWriter& events, int out_fd) {
  Job job;
  try {
    const auto text = next_line();
    if (!text) throw Error("standard input ended before a job came");
    job = parse(*text);
  } catch (const Error& error) {
    return refuse(events, error.what());
  }
  const protocol::Deadline deadline(job.time_limit_s, events, out_fd);
  const auto& clock = measure::Clock::instance();
  const std::uint64_t start = clock.ticks();
  std::string phase = "prepare";
  bool working = false;
  std::uint64_t trials = 0;
  try {
    trials = work(job, engines, events, phase, working);
  } catch (const std::exception& error) {
    events.failure(phase, error.what());
    std::cerr << name() << ": " << error.what() << '\n';
    return working ? kFailed : kNothingRan;
  }
  events.write({{"event", "done"},
                {"trials", trials},
                {"failures", events.failures()},
                {"elapsed_s", clock.to_ns(clock.ticks() - start) * 1e-9},
                {"clock",
                 {{"source", clock.source_name()},
                  {"hz", clock.hz()},
                  {"overhead_ns", clock.overhead_ns()},
                  {"resolution_ns", clock.resolution_ns()},
                  {"cross_check_ppm", clock.cross_check_ppm()}}}});
  return events.failures() == 0 ? 0 : kFailed;
}

}  // namespace dpubench::programs
