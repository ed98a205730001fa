// Engines beside bare loops over the same library calls, on the same messages and buffers: one round of a job.
//
// Usage: bareloops ENGINES BARE <JOB. ENGINES and BARE are folders of modules. Each group of the job has two points: an engine
// and its bare loop. The engine runs as in the operators study (LaneStepper, run_window). The bare loop runs and times itself
// (bare/support/timed_loop.hpp), so that whatever the harness costs is on one side only. Windows alternate engine, bare, bare,
// engine. Prints `window` and `failure` events as dpubench-operators does.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bare/support/timed_loop.hpp"
#include "base/error.hpp"
#include "inputs/store.hpp"
#include "measure/clock.hpp"
#include "measure/team.hpp"
#include "measure/window.hpp"
#include "operators/buffers.hpp"
#include "operators/driver.hpp"
#include "operators/engines.hpp"
#include "operators/operator.hpp"
#include "operators/verify.hpp"
#include "protocol/events.hpp"
#include "protocol/job.hpp"

namespace {

using namespace dpubench;
using measure::Clock;

constexpr std::size_t kBuffers = 32;  // as the resident footprint

/// One side of a comparison, prepared and verified.
struct Side {
  const protocol::JobPoint* point = nullptr;
  std::unique_ptr<Session> session;
  std::vector<Output> accepted;
  bool judged = false;  ///< all outputs of a window were
};

/// An engine and its bare loop on one set of buffers.
class Comparison {
 public:
  Comparison(const protocol::Job& job, const protocol::JobGroup& spec, const EngineCatalog& engines, inputs::Store& store)
      : job_(job),
        spec_(spec),
        op_(operator_of(spec)),
        work_(work_of(op_, spec, store)),
        team_(1, job.cpus, job.seed + job.round) {
    verifier_.emplace(op_, *work_, engines, spec.burst, job.seed * 1000003U + job.round);
    for (std::size_t i = 0; i < sides_.size(); ++i) prepare(sides_[i], spec.points[i], engines);
    auto* const timed = dynamic_cast<bare::TimedSession*>(sides_[1].session.get());
    if (timed == nullptr) throw Error(spec.points[1].engine + " is no bare loop: it has no timing of its own");
    team_.run([&](unsigned) {
      buffers_.emplace(*work_, std::max<std::size_t>(kBuffers, spec.burst), spec.burst, job.seed * 1000003U + job.round * 101U);
      lane_ = sides_[0].session->open();
      lane_->attach(buffers_->memory());
      stepper_.emplace(*lane_, *buffers_);
      loop_ = timed->loop();
      loop_->attach(buffers_->memory());
      // The same number for both sides, in whole turns of the ring: every window holds each message equally often.
      const std::uint64_t least = measure::bursts_per_reading(*stepper_, Clock::instance());
      const std::uint64_t ring = buffers_->bursts().size();
      chunk_ = (least + ring - 1) / ring * ring;
      stepper_->take_touched();
    });
    poison();
  }

  /// Alternates the windows of both sides and reports all but those of the first cycle, which warms up.
  void run(protocol::EventWriter& events) {
    for (std::uint32_t cycle = 0; cycle <= job_.cycles && !events.closed(); ++cycle) {
      for (const auto& [side, half] : {std::pair{0, 0}, std::pair{1, 0}, std::pair{1, 1}, std::pair{0, 1}}) {
        const bare::Stretch stretch = side == 0 ? engine_window() : bare_window();
        check(sides_[static_cast<std::size_t>(side)]);
        if (cycle == 0) continue;
        events.write({{"event", "window"},
                      {"point", sides_[static_cast<std::size_t>(side)].point->id},
                      {"group", spec_.id},
                      {"round", job_.round},
                      {"cycle", cycle},
                      {"half", half},
                      {"operations", stretch.bursts * spec_.burst},
                      {"elapsed_ns", stretch.elapsed_ns}});
      }
    }
    buffers_->check_inputs();
  }

 private:
  static const Operator& operator_of(const protocol::JobGroup& spec) {
    const Operator* const found = find_operator(spec.op);
    if (found == nullptr) throw Error("there is no operator '" + spec.op + "'");
    if (spec.points.size() != 2) throw Error("a comparison has two points: an engine and its bare loop");
    return *found;
  }

  static std::unique_ptr<Work> work_of(const Operator& op, const protocol::JobGroup& spec, inputs::Store& store) {
    const Params params = op.complete(spec.params);
    std::unique_ptr<Work> work = op.prepare(params, store, {std::max(static_cast<std::uint32_t>(kBuffers), spec.burst)});
    work->params = params;
    if (work->items.empty()) throw Error("the input yields no item for " + params.str());
    return work;
  }

  /// @throws Error when there is no such engine, or it fails its verification
  void prepare(Side& side, const protocol::JobPoint& point, const EngineCatalog& engines) {
    const EngineSlot* const slot = engines.find(spec_.op, point.engine);
    if (slot == nullptr) throw Error(spec_.op + " has no engine '" + point.engine + "'");
    if (!slot->reason.empty()) throw Error(point.engine + " cannot run here: " + slot->reason);
    if (const std::string reason = slot->engine->unsupported(work_->params); !reason.empty()) {
      throw Error(point.engine + " does not do this: " + reason);
    }
    side.point = &point;
    side.session = slot->engine->prepare(*work_);
    verifier_->verify(*slot->engine, *side.session, side.accepted);
  }

  bare::Stretch engine_window() {
    measure::Stepper* const steppers[] = {&*stepper_};
    team_.run([&](unsigned) {
      stepper_->seek(0);
      stepper_->step(chunk_);  // what checked the window before left the caches to others
      stepper_->finish();
    });
    const measure::WindowSpec spec{job_.window.min_ms, 1, job_.window.min_ms, job_.window.threaded_min_ms};
    const measure::Window window = measure::run_window(team_, steppers, chunk_, spec, Clock::instance());
    stepper_->require_progress();
    stepper_->take_touched();
    return {window.bursts, window.elapsed_ns};
  }

  bare::Stretch bare_window() {
    bare::Stretch stretch;
    team_.run([&](unsigned) {
      loop_->run(buffers_->bursts(), chunk_, 0);
      stretch = loop_->run(buffers_->bursts(), chunk_, job_.window.min_ms * 1e6);
      for (auto burst = buffers_->bursts().rbegin(); burst != buffers_->bursts().rend(); ++burst) loop_->settle(*burst);
    });
    return stretch;
  }

  /// Compares every output that a window left. @throws Error with the first wrong one
  void check(Side& side) {
    std::vector<std::size_t> items;
    std::vector<Output> outputs;
    for (std::size_t i = 0; i < buffers_->size(); ++i) {
      const std::size_t item = buffers_->item_of(i);
      if (buffers_->equals(i, side.accepted[item], op_.info().uses_result)) continue;
      items.push_back(item);
      outputs.push_back(buffers_->output(i));
    }
    if (!items.empty()) verifier_->judge_window(items, outputs, side.accepted, !side.judged);
    side.judged = true;
    poison();
  }

  void poison() {
    for (std::size_t b = 0; b < buffers_->bursts().size(); ++b) buffers_->poison(b);
  }

  const protocol::Job& job_;
  const protocol::JobGroup& spec_;
  const Operator& op_;
  std::unique_ptr<Work> work_;
  measure::ThreadTeam team_;
  std::optional<Verifier> verifier_;
  std::array<Side, 2> sides_;
  std::optional<BufferSet> buffers_;
  std::unique_ptr<Lane> lane_;
  std::optional<LaneStepper> stepper_;
  std::unique_ptr<bare::TimedLoop> loop_;
  std::uint64_t chunk_ = 1;
};

int compare(const char* engine_folder, const char* bare_folder) {
  // Libraries print to standard output as they please: events keep the real one, everybody else gets standard error.
  protocol::EventWriter events(fdopen(dup(STDOUT_FILENO), "w"));
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const protocol::Job job = protocol::parse_job(std::string(std::istreambuf_iterator<char>(std::cin), {}));
  EngineCatalog engines;
  engines.load(engine_folder);
  engines.load(bare_folder);
  inputs::Store store(job.inputs, job.seed, job.cache_dir);
  for (const protocol::JobGroup& spec : job.groups) {
    try {
      Comparison(job, spec, engines, store).run(events);
    } catch (const std::exception& error) {
      events.failure("measure", error.what(), spec.id);
    }
  }
  return events.failures() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw Error("usage: bareloops ENGINES BARE <JOB");
    return compare(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "bareloops: " << error.what() << '\n';
    return 2;
  }
}
