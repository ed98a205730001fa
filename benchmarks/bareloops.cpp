// Engines beside bare loops over the same library calls, on the same messages and buffers: one round of a job.
//
// Usage: bareloops ENGINES BARE <JOB. ENGINES and BARE are folders of modules. Each group of the job has two points: an engine
// and its bare loop. The engine runs as in the operators study (LaneStepper, run_window). The bare loop runs and times itself
// (bare/support/timed_loop.hpp), so that only one side has the costs of the harness. Windows alternate engine, bare, bare,
// engine. Prints `window` and `failure` events as dpubench-operators does.

#include <array>
#include <utility>

#include "bare/support/timed_loop.hpp"
#include "measure/window.hpp"
#include "operators/driver.hpp"
#include "side.hpp"

namespace {

using namespace dpubench;
using benchmarks::Side;
using measure::Clock;

constexpr std::uint32_t kBuffers = 32;  // as in the resident footprint

/// An engine and its bare loop on one set of buffers.
class Comparison {
 public:
  Comparison(const protocol::Job& job, const protocol::JobGroup& spec, const EngineCatalog& engines, inputs::Store& store)
      : job_(job), spec_(spec), bed_(job, spec, engines, store, std::max(kBuffers, spec.burst)) {
    if (spec.points.size() != sides_.size()) throw Error("a comparison has two points: an engine and its bare loop");
    for (std::size_t i = 0; i < sides_.size(); ++i) sides_[i] = bed_.prepare(spec.points[i]);
    auto* const timed = dynamic_cast<bare::TimedSession*>(sides_[1].session.get());
    if (timed == nullptr) throw Error(spec.points[1].engine + " is no bare loop: it has no timing of its own");
    bed_.team().run([&](unsigned) {
      buffers_.emplace(bed_.work(), std::max(kBuffers, spec.burst), spec.burst, bed_.seed());
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
    for (std::size_t b = 0; b < buffers_->bursts().size(); ++b) buffers_->poison(b);
  }

  /// Alternate the windows of both sides and report all but those of the first cycle, which warms up.
  void run(protocol::EventWriter& events) {
    for (std::uint32_t cycle = 0; cycle <= job_.cycles && !events.closed(); ++cycle) {
      for (const auto& [at, half] : {std::pair{0U, 0}, std::pair{1U, 0}, std::pair{1U, 1}, std::pair{0U, 1}}) {
        const bare::Stretch stretch = at == 0 ? engine_window() : bare_window();
        bed_.check(sides_[at], *buffers_, buffers_->bursts().size());
        if (cycle == 0) continue;
        benchmarks::tell(events, job_, spec_, sides_[at].point->id, cycle, half, stretch.bursts * spec_.burst,
                         stretch.elapsed_ns);
      }
    }
    buffers_->check_inputs();
  }

 private:
  bare::Stretch engine_window() {
    measure::Stepper* const steppers[] = {&*stepper_};
    bed_.team().run([&](unsigned) {
      stepper_->seek(0);
      stepper_->step(chunk_);  // checking the former window displaced the caches
      stepper_->finish();
    });
    const measure::WindowSpec spec{job_.window.min_ms, 1, job_.window.min_ms, job_.window.threaded_min_ms};
    const measure::Window window = measure::run_window(bed_.team(), steppers, chunk_, spec, Clock::instance());
    stepper_->require_progress();
    stepper_->take_touched();
    return {window.bursts, window.elapsed_ns};
  }

  bare::Stretch bare_window() {
    bare::Stretch stretch;
    bed_.team().run([&](unsigned) {
      loop_->run(buffers_->bursts(), chunk_, 0);
      stretch = loop_->run(buffers_->bursts(), chunk_, job_.window.min_ms * 1e6);
      for (auto burst = buffers_->bursts().rbegin(); burst != buffers_->bursts().rend(); ++burst) loop_->settle(*burst);
    });
    return stretch;
  }

  const protocol::Job& job_;
  const protocol::JobGroup& spec_;
  benchmarks::Bed bed_;
  std::array<Side, 2> sides_;
  std::optional<BufferSet> buffers_;
  std::unique_ptr<Lane> lane_;
  std::optional<LaneStepper> stepper_;
  std::unique_ptr<bare::TimedLoop> loop_;
  std::uint64_t chunk_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  return benchmarks::run("bareloops", std::span(argv, static_cast<std::size_t>(argc)).subspan(1),
                         [](const auto& job, const auto& group, const auto& engines, auto& store, auto& events) {
                           Comparison(job, group, engines, store).run(events);
                         });
}
