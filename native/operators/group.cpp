#include "operators/group.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "measure/clock.hpp"
#include "measure/region.hpp"
#include "measure/window.hpp"
#include "operators/footprint.hpp"
#include "protocol/machine.hpp"

namespace dpubench {
namespace {

using measure::Clock;
using nlohmann::json;

constexpr double kWarmUpMs = 0.3;

/// Return the burst of the ring that a cycle's windows begin with: the same for all points of the group. The bursts are spread
/// evenly over rounds and cycles.
std::size_t first_burst(std::uint32_t round, std::uint32_t cycle, std::size_t ring) {
  return static_cast<std::size_t>(inputs::Random(std::uint64_t{round} << 32 | cycle).below(ring));
}

}  // namespace

void Group::prepare() {
  for (const protocol::JobPoint& point : spec_.points) points_.emplace_back().point = &point;
  const auto fail_all = [this](std::string_view phase, std::string_view message) {
    for (PointRun& run : points_) fail(run, phase, message);
  };
  const auto progress = [this](const char* phase) {
    events_.write({{"event", "progress"}, {"group", spec_.id}, {"phase", phase}, {"done", 0}, {"of", points_.size()}});
  };
  op_ = find_operator(spec_.op);
  if (op_ == nullptr) return fail_all("job", "there is no operator '" + spec_.op + "': --list shows all operators");
  progress("inputs");
  try {
    const Params params = op_->complete(spec_.params);
    work_ = op_->prepare(params, store_, {distinct_messages(*op_, params, spec_, traced_operations())});
    work_->params = params;
    if (work_->items.empty()) throw Error("the input yields no item for " + params.str());
  } catch (const std::exception& error) {
    return fail_all("inputs", error.what());
  }
  progress("verify");
  try {
    verifier_ = std::make_unique<Verifier>(*op_, *work_, engines_, spec_.burst, job_.seed * 1000003U + job_.round);
    layout();
  } catch (const std::exception& error) {
    return fail_all("verify", error.what());
  }
  for (PointRun& run : points_) prepare_point(run);
}

void Group::layout() {
  std::size_t least = kResidentBuffers;
  // Each job under way needs a buffer of its own.
  for (const protocol::JobPoint& point : spec_.points) {
    least = std::max<std::size_t>(least, in_flight_of(point, engines_.find(spec_.op, point.engine)));
  }
  const RingSize ring = ring_size(*op_, *work_, spec_, least, traced_operations(), protocol::caches(),
                                  spec_.footprint == protocol::Footprint::kMemory ? protocol::available_memory() : 0);
  if (!ring.capped.empty()) events_.warning("footprint-capped", ring.capped, spec_.id);
  team_ = std::make_unique<measure::ThreadTeam>(spec_.threads, job_.cpus, job_.seed + job_.round);
  if (!team_->pinned())
    events_.warning("not-pinned", "a thread could not be pinned to its CPU: its rate may include migrations", spec_.id);
  if (team_->size() > team_->cpus()) {
    events_.warning("oversubscribed", std::to_string(team_->size()) + " threads share " + std::to_string(team_->cpus()) + " CPUs",
                    spec_.id);
  }
  cycles_ = measure::open_cycle_counters(*team_);
  buffers_.resize(spec_.threads);
  // Each thread allocates its own buffers, so that first touch places them on its NUMA node.
  team_->run([&](unsigned i) {
    buffers_[i] = std::make_unique<BufferSet>(*work_, ring.buffers, spec_.burst, job_.seed * 1000003U + job_.round * 101U + i);
  });
  extent_ = extent(*op_, *work_, buffers_[0]->size());
}

void Group::prepare_point(PointRun& run) {
  const EngineSlot* slot = engines_.find(spec_.op, run.point->engine);
  if (slot == nullptr) return fail(run, "prepare", spec_.op + " has no engine '" + run.point->engine + "' in this build");
  if (!slot->reason.empty()) return fail(run, "prepare", run.point->engine + " cannot run here: " + slot->reason);
  if (const std::string reason = slot->engine->unsupported(work_->params); !reason.empty()) {
    return fail(run, "prepare", run.point->engine + " does not do this: " + reason);
  }
  const std::uint32_t in_flight = in_flight_of(*run.point, slot);
  if (run.point->in_flight != 0 && in_flight == 0) {
    return fail(run, "prepare", run.point->engine + " is synchronous and keeps no jobs in flight: leave in_flight out");
  }
  const Clock& clock = Clock::instance();
  std::string_view phase = "prepare";
  try {
    const std::uint64_t start = clock.ticks();
    run.session = slot->engine->prepare(*work_);
    const double build_ns = clock.to_ns(clock.ticks() - start);
    const PathInfo path = run.session->path();
    json path_event = {
        {"isa", path.isa}, {"detail", path.detail}, {"library", slot->engine->info().library}, {"is_hardware", path.is_hardware}};
    if (!path.driver.empty()) path_event["driver"] = path.driver;
    if (!path.device.empty()) path_event["device"] = path.device;
    if (in_flight != 0) {
      if (path.max_in_flight < spec_.burst) {
        throw Error("the device takes at most " + std::to_string(path.max_in_flight) +
                    " jobs at once, which is less than a burst of " + std::to_string(spec_.burst) + ": ask for a smaller burst");
      }
      run.bursts_in_flight =
          std::clamp<std::size_t>(std::min(in_flight, path.max_in_flight) / spec_.burst, 1, buffers_[0]->bursts().size());
      path_event["in_flight"] = run.bursts_in_flight * spec_.burst;
    }
    json prepared = {{"event", "prepared"},
                     {"point", run.point->id},
                     {"group", spec_.id},
                     {"build_ns", build_ns},
                     {"memory_bytes", run.session->memory_bytes()},
                     {"items", work_->items.size()},
                     {"buffers", buffers_[0]->size()},
                     {"footprint_bytes", buffers_[0]->footprint_bytes()},
                     {"touched_bytes", extent_.touched_bytes},
                     {"distinct_messages", extent_.distinct_messages},
                     {"input", {{"name", work_->input_name}, {"sha256", work_->input_hash}}},
                     {"path", std::move(path_event)}};
    if (extent_.distinct_keys) prepared["distinct_keys"] = *extent_.distinct_keys;
    events_.write(prepared);
    phase = "verify";
    const Verifier::Passed passed = verifier_->verify(*slot->engine, *run.session, run.accepted);
    json verified_event = {{"event", "verified"},         {"point", run.point->id},
                           {"group", spec_.id},           {"known_answers", passed.known_answers},
                           {"compared", passed.compared}, {"how", passed.how}};
    if (passed.undecided_share) verified_event["undecided_share"] = *passed.undecided_share;
    events_.write(verified_event);
    phase = "prepare";
    open_lanes(run);
    check_inputs();
  } catch (const std::exception& error) {
    fail(run, phase, error.what());
  }
}

void Group::open_lanes(PointRun& run) {
  const Clock& clock = Clock::instance();
  run.lanes.resize(spec_.threads);
  run.steppers.resize(spec_.threads);
  std::vector<std::uint64_t> chunks(spec_.threads, 1);
  team_->run([&](unsigned i) {
    run.lanes[i] = run.session->open();
    run.lanes[i]->attach(buffers_[i]->memory());
    run.steppers[i] = std::make_unique<LaneStepper>(*run.lanes[i], *buffers_[i], run.bursts_in_flight);
    const std::uint64_t least = measure::bursts_per_reading(*run.steppers[i], clock);
    const std::uint64_t start = clock.ticks();
    run.steppers[i]->step(least);
    run.steppers[i]->finish();
    run.steppers[i]->require_progress();
    const double burst_ns = clock.to_ns(clock.ticks() - start) / static_cast<double>(least);
    // Messages differ in cost. Windows of whole cycles process every item equally often, for an engine of any speed. If a cycle
    // takes longer than a window, engines share only the first part of the cycle, as far as each gets.
    const std::uint64_t cycle = buffers_[i]->cycle();
    const bool whole = static_cast<double>(cycle) * burst_ns <= job_.window.max_ms * 1e6;
    chunks[i] = whole ? (least + cycle - 1) / cycle * cycle : least;
  });
  run.chunk = *std::max_element(chunks.begin(), chunks.end());
  for (auto& stepper : run.steppers) stepper->take_touched();
  for (auto& buffers : buffers_) {
    for (std::size_t b = 0; b < buffers->bursts().size(); ++b) buffers->poison(b);
  }
}

void Group::window(PointRun& run, std::uint32_t cycle, int half, bool warm_up) {
  const Clock& clock = Clock::instance();
  std::vector<measure::Stepper*> steppers;
  std::vector<std::size_t> first(spec_.threads);
  for (auto& stepper : run.steppers) steppers.push_back(stepper.get());
  team_->run([&](unsigned i) {
    const std::size_t ring = buffers_[i]->bursts().size();
    // Messages differ in cost, and a window of a slow engine may hold only a part of them. So all points of a group begin a
    // cycle's windows at the same buffer. Each cycle and round begins at another one.
    first[i] = first_burst(job_.round, cycle, ring);
    // Verification and poisoning of the previous window filled the caches with other data. Run the lane warm half a ring away: if
    // the footprint is larger than the caches, the buffers to be timed stay cold. Then poison again what the warm-up wrote.
    const std::size_t begin = (first[i] + ring / 2) % ring;
    run.steppers[i]->seek(begin);
    const std::uint64_t until = clock.ticks() + clock.from_ns(kWarmUpMs * 1e6);
    do {
      run.steppers[i]->step(1);
    } while (clock.ticks() < until);
    run.steppers[i]->finish();
    const std::uint64_t touched = std::min<std::uint64_t>(run.steppers[i]->take_touched(), ring);
    for (std::uint64_t b = 0; b < touched; ++b) buffers_[i]->poison((begin + b) % ring);
    run.steppers[i]->seek(first[i]);
  });
  const measure::WindowSpec spec{job_.window.min_ms, job_.window.min_bursts, job_.window.max_ms, job_.window.threaded_min_ms};
  const auto energy_before = energy_.read();
  const measure::Window window = measure::run_window(*team_, steppers, run.chunk, spec, clock, cycles_);
  const auto energy_uj = energy_.uj_between(energy_before, energy_.read());

  std::vector<std::uint64_t> touched;
  for (auto& stepper : run.steppers) touched.push_back(stepper->take_touched());
  Operator::WindowTotals totals;
  totals.operations = window.operations;
  try {
    for (auto& stepper : run.steppers) stepper->require_progress();
    check_window(run, touched, first, totals);
  } catch (const std::exception& error) {
    return fail(run, "measure", std::string("after a window: ") + error.what());
  }
  if (warm_up) return;
  protocol::WindowEvent event{.point = run.point->id,
                              .group = spec_.id,
                              .round = job_.round,
                              .cycle = cycle,
                              .half = half,
                              .operations = window.operations,
                              .elapsed_ns = window.elapsed_ns,
                              .in_bytes = totals.in_bytes,
                              .out_bytes = totals.out_bytes,
                              .rate_bytes = op_->rate_bytes(*work_, totals),
                              .bursts = window.bursts,
                              .core_cycles = window.core_cycles,
                              .energy_uj = energy_uj};
  const std::vector<double> values = op_->metrics(*work_, totals);
  for (std::size_t i = 0; i < values.size(); ++i) event.metrics.emplace_back(op_->info().metrics[i].name, values[i]);
  events_.window(event);
  if (run.remarked) return;
  run.remarked = true;
  if (window.least_bursts < job_.window.min_bursts) {
    std::ostringstream text;
    text << "a window of at most " << job_.window.max_ms << " ms holds only " << window.least_bursts << " bursts of a thread";
    events_.warning("few-bursts", text.str(), spec_.id, run.point->id);
  }
  if (const auto remark = op_->remark(*work_, totals)) events_.warning(remark->code, remark->message, spec_.id, run.point->id);
}

bool Group::trace(PointRun& run, std::uint64_t operations) {
  LaneStepper& stepper = *run.steppers[0];
  const std::uint64_t bursts = (operations + spec_.burst - 1) / spec_.burst;
  team_->run([&](unsigned) {
    stepper.seek(0);
    measure::open_region();
    for (std::uint64_t i = 0; i < bursts; ++i) {
      measure::next_message();
      stepper.step(1);
    }
    stepper.finish();
    measure::close_region();
  });
  const std::uint64_t touched = stepper.take_touched();
  const std::size_t first = 0;
  Operator::WindowTotals totals;
  totals.operations = bursts * spec_.burst;
  try {
    stepper.require_progress();
    check_window(run, {&touched, 1}, {&first, 1}, totals);
  } catch (const std::exception& error) {
    fail(run, "measure", std::string("after the trace: ") + error.what());
    return false;
  }
  nlohmann::json event = {{"event", "traced"},
                          {"point", run.point->id},
                          {"group", spec_.id},
                          {"bursts", bursts},
                          {"operations", totals.operations},
                          {"in_bytes", totals.in_bytes},
                          {"out_bytes", totals.out_bytes}};
  if (const auto ring = buffers_[0]->input_ring()) {
    const auto address = reinterpret_cast<std::uintptr_t>(ring->first);
    event["input_ring"] = {{"address", address}, {"stride_bytes", ring->stride_bytes}, {"count", ring->count}};
  }
  events_.write(event);
  return true;
}

void Group::check_window(PointRun& run, std::span<const std::uint64_t> touched, std::span<const std::size_t> first,
                         Operator::WindowTotals& totals) {
  for (unsigned t = 0; t < spec_.threads; ++t) {
    BufferSet& buffers = *buffers_[t];
    const std::size_t ring = buffers.bursts().size();
    std::vector<std::size_t> items;
    std::vector<Output> outputs;
    for (std::uint64_t k = 0; k < std::min<std::uint64_t>(touched[t], ring); ++k) {
      const std::size_t b = (first[t] + k) % ring;
      buffers.check_inputs(b);  // first: changed inputs make all outputs wrong, also those of other engines
      const std::uint64_t visits = touched[t] / ring + (k < touched[t] % ring ? 1 : 0);
      totals.in_bytes += visits * buffers.in_bytes(b);
      totals.out_bytes += visits * buffers.out_bytes(b);
      totals.result_sum += visits * buffers.result_sum(b);
      for (std::size_t i = b * spec_.burst; i < (b + 1) * spec_.burst; ++i) {
        const std::size_t item = buffers.item_of(i);
        if (buffers.equals(i, run.accepted[item], op_->info().uses_result)) continue;
        items.push_back(item);
        outputs.push_back(buffers.output(i));
      }
    }
    // Bytes that differ from those before are no fault by themselves (a signature with a random nonce): judge them anew.
    if (!items.empty()) verifier_->judge_window(items, outputs, run.accepted, !run.judged);
    for (std::uint64_t k = 0; k < std::min<std::uint64_t>(touched[t], ring); ++k) buffers.poison((first[t] + k) % ring);
  }
  run.judged = true;
}

void Group::finish() {
  try {
    check_inputs();
  } catch (const std::exception& error) {
    for (PointRun& run : points_) {
      if (!run.alive) continue;
      fail(run, "measure",
           std::string(error.what()) +
               ", in a buffer that it was not working on: it is unknown which of the engines that share the inputs did this: "
               "measure each alone");
    }
  }
}

}  // namespace dpubench
