// One operator's lane in the operators study's harness and in a stage of the server, one round: the overhead of a stage.
//
// Usage: places ENGINES ROUND CYCLES OPERATOR ENGINE [KEY=VALUE | KIND:FILE]...
// ENGINES is the folder of engine modules, KEY=VALUE a parameter of the operator, KIND:FILE an input. Prints one JSON object:
// rates {harness, stage} of [first half, second half] per cycle in operations per second. Windows alternate harness, stage,
// stage, harness. Both work on the same buffers, in bursts of the same items, through lanes of the same session.

#include <algorithm>
#include <array>
#include <charconv>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "datapath/stages/lane_stage.hpp"
#include "inputs/store.hpp"
#include "measure/clock.hpp"
#include "measure/team.hpp"
#include "measure/window.hpp"
#include "operators/buffers.hpp"
#include "operators/driver.hpp"
#include "operators/engines.hpp"
#include "operators/operator.hpp"
#include "operators/verify.hpp"

namespace {

using namespace dpubench;
using measure::Clock;

constexpr std::uint32_t kBurst = 32;
constexpr std::size_t kBuffers = 32;  // as in the resident footprint
constexpr std::uint64_t kSeed = 1;

struct Given {
  std::string engines;
  std::uint32_t round = 0;
  std::uint32_t cycles = 0;
  std::string op;
  std::string engine;
  Params params;
  inputs::Files files;
};

/// A stepper that works as a stage does on its packets: it adds each item, runs the lane, and reads every answer.
class StageStepper final : public measure::Stepper {
 public:
  StageStepper(datapath::LaneRunner& runner, BufferSet& buffers) : runner_(runner), bursts_(buffers.bursts()) {}

  std::uint64_t step(std::uint64_t bursts) noexcept override {
    std::uint64_t operations = 0;
    std::uint64_t sink = 0;
    for (std::uint64_t left = bursts; left != 0; --left) {
      const Burst& burst = bursts_[next_];
      next_ = next_ + 1 == bursts_.size() ? 0 : next_ + 1;
      runner_.clear();
      for (std::uint32_t i = 0; i < burst.n; ++i) {
        runner_.add(burst.in[i], burst.in_len[i], burst.out[i], burst.out_room[i], burst.aux[i]);
      }
      static_cast<void>(runner_.run());  // the status of each item tells
      for (std::uint32_t i = 0; i < burst.n; ++i) {
        operations += runner_.status(i) == kStatusOk ? 1U : 0U;
        sink ^= runner_.result(i) + runner_.out_len(i);
      }
    }
    measure::keep(sink);
    return operations;
  }

 private:
  datapath::LaneRunner& runner_;
  std::span<Burst> bursts_;
  std::size_t next_ = 0;
};

/// Return the answers of the harness' lane to every buffer's item.
std::vector<Output> answers(BufferSet& buffers, LaneStepper& harness) {
  for (std::size_t i = 0; i < buffers.bursts().size(); ++i) buffers.poison(i);
  harness.step(buffers.bursts().size());
  harness.finish();
  harness.require_progress();
  std::vector<Output> found;
  for (std::size_t i = 0; i < buffers.size(); ++i) found.push_back(buffers.output(i));
  return found;
}

/// Return the answers of the stage's lane. @throws Error when it loses an item
std::vector<Output> answers(BufferSet& buffers, datapath::LaneRunner& runner) {
  std::vector<Output> found;
  for (const Burst& burst : buffers.bursts()) {
    runner.clear();
    for (std::uint32_t i = 0; i < burst.n; ++i) {
      std::fill_n(burst.out[i], burst.out_room[i], std::byte{0xa5});
      runner.add(burst.in[i], burst.in_len[i], burst.out[i], burst.out_room[i], burst.aux[i]);
    }
    if (!runner.run()) throw Error("the stage's lane lost what it was given");
    for (std::uint32_t i = 0; i < burst.n; ++i) {
      Output& output = found.emplace_back();
      output.bytes.assign(burst.out[i], burst.out[i] + runner.out_len(i));
      output.result = runner.result(i);
      output.status = runner.status(i);
    }
  }
  return found;
}

/// Undo outputs of which several may be right (an engine need not compress the same way twice).
/// @throws Error unless the items come back
void require_undone(const Operator& op, const Work& work, const EngineCatalog& engines, const BufferSet& buffers,
                    std::span<const Output> outputs) {
  std::vector<std::size_t> items;
  for (std::size_t i = 0; i < outputs.size(); ++i) items.push_back(buffers.item_of(i));
  const std::unique_ptr<Work> inverse = op.inverse(work, items, outputs);
  const auto slots = engines.of(op);
  const auto able = std::ranges::find_if(
      slots, [&](const EngineSlot* slot) { return slot->reason.empty() && slot->engine->unsupported(inverse->params).empty(); });
  if (able == slots.end()) throw Error("no engine here can undo " + work.params.str());
  const std::vector<Output> undone = run_once(*inverse, *(*able)->engine->prepare(*inverse), kBurst);
  for (std::size_t i = 0; i < undone.size(); ++i) {
    const std::string wrong = op.check(*inverse, i, undone[i], &inverse->expected.at(i));
    if (!wrong.empty()) throw Error("buffer " + std::to_string(i) + ", undone: " + wrong);
  }
}

/// Check that both lanes answer every item correctly: outputs that can be undone are undone, all others must be the same. @throws
/// Error
void require_right_answers(const Operator& op, const Work& work, const EngineCatalog& engines, const BufferSet& buffers,
                           std::span<const Output> harness, std::span<const Output> stage) {
  const bool is_undone = op.equivalence(work.params) == Equivalence::kInverse;
  for (std::size_t i = 0; i < harness.size(); ++i) {
    const bool same_result = !op.info().uses_result || stage[i].result == harness[i].result;
    if (stage[i].status != kStatusOk || !same_result || (!is_undone && stage[i].bytes != harness[i].bytes)) {
      throw Error("buffer " + std::to_string(i) + ": the stage's answer is not the harness'");
    }
  }
  if (!is_undone) return;
  require_undone(op, work, engines, buffers, harness);
  require_undone(op, work, engines, buffers, stage);
}

struct Point {
  measure::Stepper& stepper;
  std::uint64_t chunk;
};

double rate(measure::ThreadTeam& team, const Point& point) {
  measure::Stepper* const steppers[] = {&point.stepper};
  const measure::Window window = measure::run_window(team, steppers, point.chunk, measure::WindowSpec{}, Clock::instance());
  return static_cast<double>(window.operations) / window.elapsed_ns * 1e9;
}

nlohmann::json measure_round(const Given& given) {
  EngineCatalog engines;
  engines.load(given.engines);
  inputs::Store store(given.files, kSeed);
  datapath::OperatorSpec spec;
  spec.stage = "places";
  spec.op = given.op;
  spec.params = given.params;
  spec.engine = given.engine;
  spec.burst_items = kBurst;
  datapath::PreparedOperator prepared(std::move(spec), store, engines);
  const Work& work = prepared.work();
  BufferSet buffers(work, kBuffers, kBurst, given.round);
  const std::unique_ptr<datapath::LaneRunner> runner = prepared.open();
  runner->attach(buffers.memory());
  const std::unique_ptr<Lane> lane = prepared.open_lane();
  lane->attach(buffers.memory());
  LaneStepper harness(*lane, buffers);
  const std::vector<Output> of_harness = answers(buffers, harness);
  require_right_answers(*find_operator(given.op), work, engines, buffers, of_harness, answers(buffers, *runner));
  StageStepper stage(*runner, buffers);

  measure::ThreadTeam team(1, {});
  const Clock& clock = Clock::instance();
  std::array<std::uint64_t, 2> chunks{};
  team.run([&](unsigned) { chunks = {measure::bursts_per_reading(harness, clock), measure::bursts_per_reading(stage, clock)}; });
  const Point in_harness{harness, chunks[0]};
  const Point in_stage{stage, chunks[1]};
  nlohmann::json result;
  for (std::uint32_t cycle = 0; cycle <= given.cycles; ++cycle) {
    const double harness_first = rate(team, in_harness);
    const double stage_first = rate(team, in_stage);
    const double stage_second = rate(team, in_stage);
    const double harness_second = rate(team, in_harness);
    if (cycle == 0) continue;  // warms up
    result["rates"]["harness"].push_back({harness_first, harness_second});
    result["rates"]["stage"].push_back({stage_first, stage_second});
  }
  harness.require_progress();
  return result;
}

std::uint32_t number(std::string_view all) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc{} || end != all.data() + all.size()) throw Error(std::string(all) + ": is no number");
  return value;
}

Given read(std::span<char* const> words) {
  if (words.size() < 6) throw Error("usage: places ENGINES ROUND CYCLES OPERATOR ENGINE [KEY=VALUE | KIND:FILE]...");
  Given given;
  given.engines = words[1];
  given.round = number(words[2]);
  given.cycles = number(words[3]);
  given.op = words[4];
  given.engine = words[5];
  for (const std::string_view word : words.subspan(6)) {
    const std::size_t at = word.find_first_of("=:");
    if (at == std::string_view::npos) throw Error(std::string(word) + ": is neither KEY=VALUE nor KIND:FILE");
    const std::string key(word.substr(0, at));
    if (word[at] == '=') {
      given.params.set(key, std::string(word.substr(at + 1)));
    } else {
      given.files[key].emplace_back(word.substr(at + 1));
    }
  }
  return given;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::cout << measure_round(read({argv, static_cast<std::size_t>(argc)})) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "places: " << error.what() << '\n';
    return 2;
  }
}
