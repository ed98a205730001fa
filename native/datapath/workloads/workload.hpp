// A workload: a packet-processing application made of stages. Each has a folder in workloads/, whose workload.cpp registers it
// with DPUBENCH_WORKLOAD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.hpp"
#include "datapath/stages/engine.hpp"
#include "datapath/stages/pipeline.hpp"
#include "inputs/store.hpp"
#include "operators/engines.hpp"
#include "operators/operator.hpp"

namespace dpubench::datapath {

struct StageInfo {
  std::string name;  ///< "scan"; unique in its workload, key of the plan's `engines`
  std::string summary;
  std::string op;  ///< operator whose engines it may use besides `engines`; empty: none
  std::vector<StageEngineInfo> engines;
  std::string default_engine;
};

struct WorkloadInfo {
  std::string name;
  std::string summary;
  std::string definition;  ///< the treatment of a packet, and the answer that the client gets
  std::vector<Parameter> parameters;
  std::vector<StageInfo> stages;  ///< in order
  std::vector<InputKind> inputs;
  std::vector<std::string> sources;
};

/// A frame as the client will send it, except for the trailer.
struct FrameTemplate {
  std::vector<std::byte> frame;  ///< buffer without FCS, trailer included
  std::uint32_t flow = 0;
};

/// The replies that must come back: the client's side of a workload. It is built before the first trial from all templates, in
/// the order in which they are sent.
class Expectation {
 public:
  virtual ~Expectation() = default;
  enum class Answer : std::uint8_t { kRight, kWrong, kCannotTell };
  /// Judge a reply to template `index` (its trailer was valid). @param sent  the frame as it was sent (flow patched) @param
  /// reply  untrusted
  /// @param lossy  packets of this flow were lost before, so an answer that depends on them cannot be judged
  [[nodiscard]] virtual Answer judge(std::uint32_t index, std::span<const std::byte> sent, std::span<const std::byte> reply,
                                     bool lossy) = 0;
  /// Return what is wrong with the reply, for people. Called for the first wrong reply of a trial.
  [[nodiscard]] virtual std::string explain(std::uint32_t index, std::span<const std::byte> sent,
                                            std::span<const std::byte> reply) = 0;
  /// Return whether the server may drop a packet of this template on purpose (malformed, policy). Such a loss does not count as
  /// a loss.
  [[nodiscard]] virtual bool may_drop(std::uint32_t /*index*/) const { return false; }
};

class Workload {
 public:
  virtual ~Workload() = default;
  [[nodiscard]] virtual const WorkloadInfo& info() const = 0;
  /// Return why this combination of (individually valid) parameters does not exist, or an empty string if it does.
  [[nodiscard]] virtual std::string invalid(const Params&) const { return {}; }
  /// Build and verify everything that cores share. @throws Error on unusable input, and on an engine that cannot run or is wrong
  [[nodiscard]] virtual std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& store,
                                                       const EngineCatalog& engines) const = 0;
  /// Build the expectation for the replies to `templates`. @throws Error
  [[nodiscard]] virtual std::unique_ptr<Expectation> expect(const Params& params, inputs::Store& store,
                                                            const EngineCatalog& engines,
                                                            std::span<const FrameTemplate> templates) const = 0;
  /// Return `given` with defaults filled in. @throws Error on an unknown parameter, a value out of its choices or range, or
  /// invalid()
  [[nodiscard]] Params complete(const Params& given) const;
};

/// Return every workload linked in, by name.
std::span<const Workload* const> workloads();
/// Return the workload of this name, or nullptr when there is none.
const Workload* find_workload(std::string_view name);
/// Return the catalog: name, summary, definition, parameters, stages with their engines, inputs and sources of each workload.
nlohmann::json workload_catalog(const EngineCatalog& engines);

namespace detail {
struct WorkloadRegistrar {
  explicit WorkloadRegistrar(const Workload& workload);
};
}  // namespace detail

}  // namespace dpubench::datapath

#define DPUBENCH_WORKLOAD(Type)                 \
  static const Type dpubench_workload_##Type{}; \
  static const ::dpubench::datapath::detail::WorkloadRegistrar dpubench_registrar_##Type(dpubench_workload_##Type)
