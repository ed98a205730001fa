#include "cores/model/chip.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace dpubench::cores {

using nlohmann::json;

namespace {

constexpr std::uint64_t kProgressSteps = std::uint64_t{1} << 22;

json context_result(const Context& context, double clock_mhz) {
  json result = to_json(context.result);
  const Cycle cycles = context.end - context.start;
  result["cycles"] = cycles;
  result["ipc"] = cycles == 0 ? 0.0 : static_cast<double>(context.result.instructions) / static_cast<double>(cycles);
  result["messages_per_s"] =
      cycles == 0 ? 0.0 : static_cast<double>(context.result.messages) * clock_mhz * 1e6 / static_cast<double>(cycles);
  // These are the ends of messages, for intervals. Message n ends when message n + 1 begins.
  json times = json::array();
  for (const Cycle cycle : context.message_times.cycles()) times.push_back(cycle - std::min(cycle, context.start));
  result["message_cycles"] = {{"every", context.message_times.every()}, {"cycles", times}};
  if (context.phases.is_kept()) {
    json phases = json::array();
    for (const Phase& phase : context.phases.phases()) phases.push_back(to_json(phase));
    result["phases"] = phases;
  }
  return result;
}

void add(TlbCounters& sum, const TlbCounters& part) {
  sum.accesses += part.accesses;
  sum.misses += part.misses;
  sum.walks += part.walks;
}

}  // namespace

Chip::Chip(const Description& description, std::vector<Load> loads, std::vector<FrameBuffers> buffers)
    : description_(description), hierarchy_(description_, now_), next_(description.organisation.cores, 0) {
  const Organisation& organisation = description_.organisation;
  const std::size_t contexts = std::size_t{organisation.cores} * organisation.contexts;
  if (loads.size() != contexts) {
    throw Error("the processor '" + description_.name + "' has " + std::to_string(contexts) + " contexts (" +
                std::to_string(organisation.cores) + " cores of " + std::to_string(organisation.contexts) + "), but there are " +
                std::to_string(loads.size()) + " traces: give one trace per context");
  }
  if (description_.dma) {
    dma_.emplace(description_, std::move(buffers), hierarchy_);
    hierarchy_.memory().call_before_requests([this](Cycle at) { dma_->advance(at); });
  } else if (!buffers.empty()) {
    throw Error("there are frame buffers, but the processor '" + description_.name + "' has no DMA agent");
  }
  for (std::uint32_t core = 0; core < organisation.cores; ++core) {
    const auto first = loads.begin() + std::ptrdiff_t{core} * organisation.contexts;
    std::vector<Load> own(std::make_move_iterator(first), std::make_move_iterator(first + organisation.contexts));
    cores_.push_back(std::make_unique<Core>(description_, core, std::move(own), hierarchy_, now_));
  }
}

/// Start counting in caches and memory once all contexts are behind their warm-up.
void Chip::begin_counting() {
  for (const auto& core : cores_) {
    for (const auto& context : core->contexts()) {
      if (!context->counting) return;
    }
  }
  counting_ = true;
  if (now_.cycle == 0) return;
  for (const auto& core : cores_) {
    for (const auto& context : core->contexts()) context->phases.before_reset();
  }
  hierarchy_.reset_counters();
  if (dma_) dma_->reset_counters();
  for (const auto& core : cores_) core->reset_translation_counters();
}

bool Chip::is_done() const {
  return std::all_of(cores_.begin(), cores_.end(), [](const auto& core) {
    return std::all_of(core->contexts().begin(), core->contexts().end(), [](const auto& context) { return context->done; });
  });
}

std::uint64_t Chip::simulated() const {
  std::uint64_t sum = 0;
  for (const auto& core : cores_) {
    for (const auto& context : core->contexts()) sum += context->counters.instructions;
  }
  return sum;
}

void Chip::run(const std::function<void(std::uint64_t)>& progress) {
  for (std::uint64_t steps = 1; !is_done(); ++steps) {
    const Cycle now = *std::min_element(next_.begin(), next_.end());
    if (now == kNever) throw std::logic_error("no context of '" + description_.name + "' can go on, but not all are done");
    now_.cycle = now;
    if (!counting_) begin_counting();
    if (dma_) dma_->advance(now);
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      if (next_[core] <= now) next_[core] = cores_[core]->step(now);
    }
    if (progress && steps % kProgressSteps == 0) progress(simulated());
  }
}

std::vector<const Context*> Chip::contexts() const {
  std::vector<const Context*> all;
  for (const auto& core : cores_) {
    for (const auto& context : core->contexts()) all.push_back(context.get());
  }
  return all;
}

std::uint64_t Chip::instructions() const {
  std::uint64_t sum = 0;
  for (const Context* context : contexts()) sum += context->result.instructions;
  return sum;
}

std::uint64_t Chip::unknown() const {
  std::uint64_t sum = 0;
  for (const Context* context : contexts()) sum += context->result.kinds[static_cast<std::size_t>(Kind::kUnknown)];
  return sum;
}

json Chip::result() const {
  json contexts_json = json::array();
  Cycle start = kNever;
  Cycle end = 0;
  double messages_per_s = 0;
  for (const Context* context : contexts()) {
    contexts_json.push_back(context_result(*context, description_.clock_mhz));
    messages_per_s += contexts_json.back()["messages_per_s"].get<double>();
    start = std::min(start, context->start);
    end = std::max(end, context->end);
  }
  json result = hierarchy_.counters();
  TlbCounters instruction;
  TlbCounters data;
  for (const auto& core : cores_) {
    if (core->translation() == nullptr) continue;
    add(instruction, core->translation()->instruction_counters());
    add(data, core->translation()->data_counters());
  }
  result["tlbs"] = {{"instruction", to_json(instruction)}, {"data", to_json(data)}};
  if (dma_) result["dma"] = to_json(dma_->counters());
  const std::uint64_t all = instructions();
  result["processor"] = description_.name;
  result["clock_mhz"] = description_.clock_mhz;
  result["cycles"] = end - start;
  result["instructions"] = all;
  result["unknown_share"] = all == 0 ? 0.0 : static_cast<double>(unknown()) / static_cast<double>(all);
  result["messages_per_s"] = messages_per_s;
  result["contexts"] = contexts_json;
  return result;
}

}  // namespace dpubench::cores
