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
#include "datapath/frame/trailer.hpp"
#include "datapath/ports/port.hpp"
#include "datapath/stages/stage.hpp"
#include "inputs/store.hpp"
#include "operators/engines.hpp"
#include "operators/operator.hpp"

namespace dpubench::datapath {

/// A way to run a stage that is not an operator's engine.
struct StageEngine {
  std::string name;
  std::string summary;
  std::string reason;  ///< why it cannot run here; empty if it can
  std::string port{};  ///< kind of port whose packets it answers before a loop sees them; empty: it works on those that loops see
};

struct StageInfo {
  std::string name;  ///< "scan"; unique in its workload, key of the plan's `engines`
  std::string summary;
  std::string op;  ///< operator whose engines it may use besides `engines`; empty: none
  std::vector<StageEngine> engines;
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

/// The setting that a workload is opened with.
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

/// A workload that is ready, shared by all cores.
class Pipeline {
 public:
  virtual ~Pipeline() = default;
  /// Return a report on each stage that open() gives, in the same order.
  [[nodiscard]] virtual std::vector<StageReport> report() const = 0;
  /// Open the stages of one core and return them in order. Called on the core's thread, untimed. @throws Error
  [[nodiscard]] virtual std::vector<std::unique_ptr<Stage>> open(std::uint32_t core) = 0;
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
  /// Return why the engine of `stage` does not do this, and what to do, or an empty string if it does. Called with and without
  /// open ports.
  [[nodiscard]] virtual std::string unsupported(const Setting&, std::string_view /*stage*/) const { return {}; }
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

#define DPUBENCH_WORKLOAD(Type)                   \
  static const Type dpubench_workload_instance{}; \
  static const ::dpubench::datapath::detail::WorkloadRegistrar dpubench_workload_registrar(dpubench_workload_instance)
