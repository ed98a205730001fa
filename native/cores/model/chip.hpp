// A whole processor: the cores, their shared caches and memory, the DMA agent, and the simulated time.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "cores/model/core.hpp"
#include "cores/model/dma.hpp"

namespace dpubench::cores {

class Chip {
 public:
  /// @param loads  one for each context, those of core 0 first @param buffers  places for the DMA agent's frames; if empty, the
  /// agent uses its own @throws Error when the number of loads differs from the number of contexts
  Chip(const Description& description, std::vector<Load> loads, std::vector<FrameBuffers> buffers);
  Chip(const Chip&) = delete;
  Chip& operator=(const Chip&) = delete;

  /// Simulate until every context is done. @param progress  called now and then with the instructions simulated so far
  /// @throws Error from the sources, and when the processor lacks a unit for an instruction
  void run(const std::function<void(std::uint64_t instructions)>& progress);

  [[nodiscard]] std::uint64_t instructions() const;  ///< counted instructions of all contexts
  [[nodiscard]] std::uint64_t unknown() const;       ///< counted instructions that the decoder does not know
  /// Return the contexts in order, with their `start`, `end` and counters.
  [[nodiscard]] std::vector<const Context*> contexts() const;
  [[nodiscard]] const Hierarchy& hierarchy() const { return hierarchy_; }
  /// Return all results of the run (docs/cores.md).
  [[nodiscard]] nlohmann::json result() const;

 private:
  void begin_counting();
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] std::uint64_t simulated() const;

  Description description_;
  Now now_;
  Hierarchy hierarchy_;
  std::optional<DmaAgent> dma_;
  std::vector<std::unique_ptr<Core>> cores_;
  std::vector<Cycle> next_;  ///< by core
  bool counting_ = false;
};

}  // namespace dpubench::cores
