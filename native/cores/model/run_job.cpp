#include "cores/model/run_job.hpp"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cores/model/chip.hpp"
#include "cores/model/trace_source.hpp"

namespace dpubench::cores {

using nlohmann::json;

namespace {

void refuse_unknown(const Chip& chip) {
  const double share = static_cast<double>(chip.unknown()) / static_cast<double>(std::max<std::uint64_t>(1, chip.instructions()));
  if (share <= kMostUnknown) return;
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.3f %%", share * 100);
  throw Error(std::to_string(chip.unknown()) + " of " + std::to_string(chip.instructions()) + " executed instructions (" +
              percent + ") are unknown to the decoder, and at most 0.1 % are accepted: trace a kernel without them");
}

json simulate(const JobConfiguration& configuration, std::size_t number, std::size_t of, protocol::EventWriter& events) {
  std::vector<Load> loads;
  json traces = json::array();
  for (const JobContext& context : configuration.contexts) {
    auto source = std::make_unique<TraceSource>(context.trace);
    traces.push_back(
        {{"kernel", source->head().kernel}, {"cpu", source->head().cpu}, {"program_digest", source->head().program_digest}});
    Extent extent = configuration.extent;
    extent.skip_messages = context.skip_messages;
    loads.push_back({std::move(source), extent, context.code_space, context.data_space});
  }
  Chip chip(configuration.processor, std::move(loads), configuration.buffers);
  chip.run([&](std::uint64_t instructions) {
    events.write({{"event", "progress"},
                  {"group", configuration.id},
                  {"phase", "simulate"},
                  {"done", number},
                  {"of", of},
                  {"instructions", instructions}});
  });
  refuse_unknown(chip);
  if (chip.instructions() == 0)
    throw Error("no instruction was counted: the traces are shorter than the parts to skip and to warm up");
  json result = chip.result();
  for (std::size_t i = 0; i < traces.size(); ++i) result["contexts"][i]["trace"] = traces[i];
  return result;
}

}  // namespace

std::size_t run_job(const CoresJob& job, protocol::EventWriter& events) {
  std::size_t results = 0;
  const std::size_t of = job.configurations.size();
  for (std::size_t i = 0; i < of && !events.closed(); ++i) {
    const JobConfiguration& configuration = job.configurations[i];
    events.write({{"event", "progress"}, {"group", configuration.id}, {"phase", "simulate"}, {"done", i}, {"of", of}});
    try {
      json result = simulate(configuration, i, of, events);
      result["event"] = "result";
      result["group"] = configuration.id;
      result["modelled"] = true;
      events.write(result);
      ++results;
    } catch (const Error& error) {
      events.failure("simulate", error.what(), configuration.id);
    }
  }
  return results;
}

}  // namespace dpubench::cores
