// A whole processor: cores, the caches and memory that they share, the DMA agent, and the time in which all of it happens.
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
  /// @param loads  one for each context, those of core 0 first @param buffers  where the DMA agent puts frames; its own if none
  /// @throws Error when there are not as many loads as contexts
  Chip(const Description& description, std::vector<Load> loads, std::vector<FrameBuffers> buffers);
  Chip(const Chip&) = delete;
  Chip& operator=(const Chip&) = delete;

  /// Simulates until every context is done. @param progress  called now and then with the instructions simulated so far
  /// @throws Error of the sources, and when the processor lacks a unit for an instruction
  void run(const std::function<void(std::uint64_t instructions)>& progress);

  [[nodiscard]] std::uint64_t instructions() const;  ///< counted, of all contexts
  [[nodiscard]] std::uint64_t unknown() const;       ///< of these not known to the decoder
  /// Contexts in order: `start` to `end` and what was counted.
  [[nodiscard]] std::vector<const Context*> contexts() const;
  [[nodiscard]] const Hierarchy& hierarchy() const { return hierarchy_; }
  /// All that is known of the run: docs/cores.md.
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
