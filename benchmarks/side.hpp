// Shared code of the bench's programs that time engines in their own loops: one group of a job, prepared on one thread, and
// verified as in the operators study.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "inputs/store.hpp"
#include "measure/clock.hpp"
#include "measure/team.hpp"
#include "operators/buffers.hpp"
#include "operators/engines.hpp"
#include "operators/operator.hpp"
#include "operators/verify.hpp"
#include "protocol/events.hpp"
#include "protocol/job.hpp"

namespace dpubench::benchmarks {

/// A point of a group, prepared and verified.
struct Side {
  const protocol::JobPoint* point = nullptr;
  const EngineSlot* slot = nullptr;
  std::unique_ptr<Session> session;
  std::vector<Output> accepted;
  bool judged = false;  ///< whether all outputs of a window were judged
};

/// The work of a group, and the thread that does it.
class Bed {
 public:
  /// Prepare the work and its verifier. @param messages  most messages of the work @throws Error
  Bed(const protocol::Job& job, const protocol::JobGroup& spec, const EngineCatalog& engines, inputs::Store& store,
      std::uint32_t messages)
      : job_(job), spec_(spec), engines_(engines), op_(operator_of(spec)), team_(1, job.cpus, job.seed + job.round) {
    const Params params = op_.complete(spec.params);
    work_ = op_.prepare(params, store, {messages});
    work_->params = params;
    if (work_->items.empty()) throw Error("the input yields no item for " + params.str());
    verifier_.emplace(op_, *work_, engines, spec.burst, job.seed * 1000003U + job.round);
  }

  /// Return the operator of a group. @throws Error when there is no such operator
  static const Operator& operator_of(const protocol::JobGroup& spec) {
    const Operator* const found = find_operator(spec.op);
    if (found == nullptr) throw Error("there is no operator '" + spec.op + "'");
    return *found;
  }

  /// Prepare and verify a point. @throws Error when there is no such engine, it cannot run here, or it fails its verification
  Side prepare(const protocol::JobPoint& point) {
    Side side;
    side.point = &point;
    side.slot = engines_.find(spec_.op, point.engine);
    if (side.slot == nullptr) throw Error(spec_.op + " has no engine '" + point.engine + "'");
    if (!side.slot->reason.empty()) throw Error(point.engine + " cannot run here: " + side.slot->reason);
    if (const std::string reason = side.slot->engine->unsupported(work_->params); !reason.empty()) {
      throw Error(point.engine + " does not do this: " + reason);
    }
    side.session = side.slot->engine->prepare(*work_);
    verifier_->verify(*side.slot->engine, *side.session, side.accepted);
    return side;
  }

  /// Compare the outputs of a window in the first `bursts` of `buffers`, and prepare these for the next window. @throws Error
  /// with the first wrong output
  void check(Side& side, BufferSet& buffers, std::size_t bursts) {
    std::vector<std::size_t> items;
    std::vector<Output> outputs;
    for (std::size_t i = 0; i < bursts * spec_.burst; ++i) {
      const std::size_t item = buffers.item_of(i);
      if (buffers.equals(i, side.accepted[item], op_.info().uses_result)) continue;
      items.push_back(item);
      outputs.push_back(buffers.output(i));
    }
    if (!items.empty()) verifier_->judge_window(items, outputs, side.accepted, !side.judged);
    side.judged = true;
    for (std::size_t b = 0; b < bursts; ++b) buffers.poison(b);
  }

  [[nodiscard]] const Work& work() const { return *work_; }
  [[nodiscard]] measure::ThreadTeam& team() { return team_; }
  /// Return the seed of the buffers, which differs from round to round.
  [[nodiscard]] std::uint64_t seed() const { return job_.seed * 1000003U + job_.round * 101U; }

 private:
  const protocol::Job& job_;
  const protocol::JobGroup& spec_;
  const EngineCatalog& engines_;
  const Operator& op_;
  std::unique_ptr<Work> work_;
  std::optional<Verifier> verifier_;
  measure::ThreadTeam team_;
};

/// Write an event of a window.
inline void tell(protocol::EventWriter& events, const protocol::Job& job, const protocol::JobGroup& group,
                 const std::string& point, std::uint32_t cycle, int half, std::uint64_t operations, double elapsed_ns) {
  events.write({{"event", "window"},
                {"point", point},
                {"group", group.id},
                {"round", job.round},
                {"cycle", cycle},
                {"half", half},
                {"operations", operations},
                {"elapsed_ns", elapsed_ns}});
}

using Measure = std::function<void(const protocol::Job&, const protocol::JobGroup&, const EngineCatalog&, inputs::Store&,
                                   protocol::EventWriter&)>;

/// The main function of such a program: `FOLDER... <JOB`, folders of engines. It calls `measure` for each group of the job; an
/// exception of `measure` becomes a failure event of that group. It prints events as dpubench-operators does. @returns the exit
/// status
inline int run(const std::string& name, std::span<char*> folders, const Measure& measure) {
  try {
    if (folders.empty()) throw Error("usage: " + name + " FOLDER... <JOB");
    // Libraries may print to standard output: events keep the real one, all else goes to standard error.
    protocol::EventWriter events(fdopen(dup(STDOUT_FILENO), "w"));
    dup2(STDERR_FILENO, STDOUT_FILENO);
    const protocol::Job job = protocol::parse_job(std::string(std::istreambuf_iterator<char>(std::cin), {}));
    EngineCatalog engines;
    for (const char* folder : folders) engines.load(folder);
    inputs::Store store(job.inputs, job.seed, job.cache_dir);
    for (const protocol::JobGroup& group : job.groups) {
      try {
        measure(job, group, engines, store, events);
      } catch (const std::exception& error) {
        events.failure("measure", error.what(), group.id);
      }
    }
    return events.failures() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return 2;
  }
}

}  // namespace dpubench::benchmarks
