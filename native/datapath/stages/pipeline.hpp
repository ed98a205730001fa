// Stages that work: the setting that they are opened with, and what comes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/params.hpp"
#include "datapath/ports/port.hpp"
#include "datapath/stages/stage.hpp"
#include "operators/engine.hpp"

namespace dpubench::datapath {

/// The setting that a workload, and with it the engines of its stages, are opened with.
struct Setting {
  Params params;
  std::map<std::string, std::string, std::less<>> engines;  ///< by stage; complete
  std::vector<std::string> stages;                          ///< stages that run in this process; complete
  std::uint32_t cores = 1;
  std::uint32_t max_frame = 1518;  ///< with FCS
  std::uint32_t burst = 32;
  std::uint64_t seed = 1;
  std::string port_kind{};                       ///< kind of the port that faces the client
  std::span<const std::unique_ptr<Port>> ports;  ///< empty if the question is only what is possible
};

/// The report on a stage that is ready, for `ready.stages`.
struct StageReport {
  std::string name;
  std::string engine;
  PathInfo path;
  std::string verified;  ///< what was verified, in words; only verified stages are timed
  double build_ns = 0;
  std::size_t memory_bytes = 0;
};

/// Stages that are ready, shared by all cores.
class Pipeline {
 public:
  virtual ~Pipeline() = default;
  /// Return a report on each stage that open() gives, in the same order.
  [[nodiscard]] virtual std::vector<StageReport> report() const = 0;
  /// Open the stages of one core and return them in order. Called on the core's thread, untimed. @throws Error
  [[nodiscard]] virtual std::vector<std::unique_ptr<Stage>> open(std::uint32_t core) = 0;
};

}  // namespace dpubench::datapath
