#include "operators/harness.hpp"

#include <algorithm>
#include <cmath>
#include <istream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measure/canary.hpp"
#include "measure/heap_gap.hpp"
#include "measure/window.hpp"
#include "operators/footprint.hpp"
#include "operators/group.hpp"

namespace dpubench {
namespace {

using measure::Clock;
using nlohmann::json;

constexpr double kCoreCanaryMs = 0.5;
constexpr std::uint64_t kCanaryChunk = 32;  // 8,192 steps between clock readings: at least 8 us of multiplications
constexpr const char* kCoreCanary = "canary-core";
constexpr const char* kMemoryCanary = "canary-memory";

class JobRun {
 public:
  JobRun(const protocol::Job& job, const EngineCatalog& engines, protocol::EventWriter& events)
      : heap_(job.seed + job.round),
        job_(job),
        engines_(engines),
        events_(events),
        store_(job.inputs, job.seed, job.cache_dir),
        alone_(1, job.cpus),
        memory_(stream_bytes(protocol::caches()), job.seed + job.round) {}

  JobStatus run(std::istream& commands) {
    switch (job_.control) {
      case protocol::Control::kAuto:
        for (const protocol::JobGroup& spec : job_.groups) measure_group(spec);
        break;
      case protocol::Control::kStepped:
        stepped(commands);
        break;
      case protocol::Control::kTraced:
        traced();
        break;
    }
    if (measured_ == 0) return events_.failures() == 0 ? JobStatus::kDone : JobStatus::kNothingRan;
    return events_.failures() == 0 ? JobStatus::kDone : JobStatus::kFailed;
  }

  [[nodiscard]] std::uint64_t windows() const { return measured_; }

 private:
  void measure_group(const protocol::JobGroup& spec) {
    Group group(job_, spec, engines_, store_, events_, energy_);
    group.prepare();
    tell_notes();
    for (std::uint32_t cycle = 0; cycle <= job_.cycles && group.alive() && !events_.closed(); ++cycle) {
      const bool warm_up = cycle == 0;
      for (PointRun& run : group.points()) window(group, run, cycle, 0, warm_up);
      if (job_.canaries && !warm_up) {
        canary(core_, kCoreCanary, spec.id, cycle, 0);
        canary(memory_, kMemoryCanary, spec.id, cycle, 0);
        canary(memory_, kMemoryCanary, spec.id, cycle, 1);
        canary(core_, kCoreCanary, spec.id, cycle, 1);
      }
      for (auto it = group.points().rbegin(); it != group.points().rend(); ++it) window(group, *it, cycle, 1, warm_up);
      events_.write({{"event", "progress"}, {"group", spec.id}, {"phase", "measure"}, {"done", cycle}, {"of", job_.cycles}});
    }
    group.finish();
  }

  void window(Group& group, PointRun& run, std::uint32_t cycle, int half, bool warm_up) {
    if (!run.alive) return;
    group.window(run, cycle, half, warm_up);
    if (!warm_up && run.alive) ++measured_;
  }

  void canary(measure::Stepper& stepper, const char* name, const std::string& group, std::uint32_t cycle, int half) {
    const Clock& clock = Clock::instance();
    measure::Stepper* const steppers[] = {&stepper};
    measure::WindowSpec spec;
    // The windows of the points evicted the memory canary's table from the caches. A short window would mostly time how the table
    // comes back, so this canary's window is as long as a point's. The core canary has no table.
    spec.min_ms = std::string_view(name) == kMemoryCanary ? job_.window.min_ms : kCoreCanaryMs;
    spec.min_bursts = 1;
    const measure::Window window = measure::run_window(alone_, steppers, kCanaryChunk, spec, clock);
    protocol::WindowEvent event{.point = name,
                                .group = group,
                                .round = job_.round,
                                .cycle = cycle,
                                .half = half,
                                .operations = window.operations,
                                .elapsed_ns = window.elapsed_ns,
                                .bursts = window.bursts};
    if (std::string_view(name) == kCoreCanary && measure::CoreCanary::multiply_cycles() != 0) {
      event.ghz = static_cast<double>(window.operations) * measure::CoreCanary::multiply_cycles() / window.elapsed_ns;
    }
    events_.window(event);
  }

  void traced() {
    Group group(job_, job_.groups[0], engines_, store_, events_, energy_);
    group.prepare();
    tell_notes();
    if (group.alive() && group.trace(group.points()[0], job_.operations)) ++measured_;
    group.finish();
  }

  void stepped(std::istream& commands) {
    std::vector<std::unique_ptr<Group>> groups;
    for (const protocol::JobGroup& spec : job_.groups) {
      groups.push_back(std::make_unique<Group>(job_, spec, engines_, store_, events_, energy_));
      groups.back()->prepare();
      for (PointRun& run : groups.back()->points()) {
        if (run.alive) groups.back()->window(run, 0, 0, true);
      }
    }
    tell_notes();
    events_.write({{"event", "ready"}});
    std::map<std::string, std::uint32_t> counts;
    Group* last = nullptr;
    for (std::string line; !events_.closed() && std::getline(commands, line);) {
      if (line.empty()) continue;
      std::string id;
      try {
        id = protocol::parse_command(line).window;
      } catch (const Error& error) {
        events_.failure("job", error.what());
        continue;
      }
      if (id.empty()) break;
      const std::uint32_t count = counts[id]++;
      const std::uint32_t cycle = count / 2 + 1;
      const int half = static_cast<int>(count % 2);
      if (id == kCoreCanary || id == kMemoryCanary) {
        if (last == nullptr) last = groups.front().get();
        canary(id == kCoreCanary ? static_cast<measure::Stepper&>(core_) : memory_,
               id == kCoreCanary ? kCoreCanary : kMemoryCanary, last->id(), cycle, half);
        continue;
      }
      const auto found = std::find_if(groups.begin(), groups.end(), [&](auto& group) { return group->find(id) != nullptr; });
      if (found == groups.end()) {
        events_.failure("job", "there is no point '" + id + "' in this job");
      } else if (PointRun& run = *(*found)->find(id); !run.alive) {
        events_.failure("measure", "the point failed before", {}, id);
      } else {
        last = found->get();
        window(**found, run, cycle, half, false);
      }
    }
    for (auto& group : groups) group->finish();
  }

  void tell_notes() {
    for (; notes_told_ < store_.notes().size(); ++notes_told_) events_.warning("input-skipped", store_.notes()[notes_told_]);
  }

  measure::HeapGap heap_;  // first member: it moves all heap allocations after it
  const protocol::Job& job_;
  const EngineCatalog& engines_;
  protocol::EventWriter& events_;
  inputs::Store store_;
  measure::ThreadTeam alone_;
  measure::CoreCanary core_;
  measure::MemoryCanary memory_;
  measure::EnergyMeter energy_;
  std::uint64_t measured_ = 0;
  std::size_t notes_told_ = 0;
};

}  // namespace

JobStatus run_job(const protocol::Job& job, const EngineCatalog& engines, protocol::EventWriter& events, std::istream& commands) {
  const Clock& clock = Clock::instance();
  const std::uint64_t start = Clock::monotonic_raw_ns();
  JobRun run(job, engines, events);
  const JobStatus status = run.run(commands);
  constexpr double kDriftPpm = 200;
  if (std::abs(clock.cross_check_ppm()) > kDriftPpm) {
    events.warning("clock-drift", clock.source_name() + " and CLOCK_MONOTONIC_RAW differ by " +
                                      std::to_string(clock.cross_check_ppm()) + " ppm");
  }
  events.write({{"event", "done"},
                {"failures", events.failures()},
                {"windows", run.windows()},
                {"elapsed_s", static_cast<double>(Clock::monotonic_raw_ns() - start) * 1e-9},
                {"clock",
                 {{"source", clock.source_name()},
                  {"hz", clock.hz()},
                  {"overhead_ns", clock.overhead_ns()},
                  {"resolution_ns", clock.resolution_ns()},
                  {"cross_check_ppm", clock.cross_check_ppm()}}}});
  return status;
}

}  // namespace dpubench
