// A workload: a packet-processing application made of stages. One folder in workloads/, whose workload.cpp registers with
// DPUBENCH_WORKLOAD.
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
#include "datapath/server/stage.hpp"
#include "inputs/store.hpp"
#include "operators/engines.hpp"
#include "operators/operator.hpp"

namespace dpubench::datapath {

/// One way to carry a stage out that is no operator's engine.
struct StageEngine {
  std::string name;
  std::string summary;
  std::string reason;  ///< why it cannot run here; empty if it can
  std::string port{};  ///< kind of port whose packets it answers before a loop sees them; empty: it works on those that loops see
};

struct StageInfo {
  std::string name;  ///< "scan"; unique in its workload, key of the plan's `engines`
  std::string summary;
  std::string op;  ///< the operator whose engines it may use; empty: `engines`
  std::vector<StageEngine> engines;
  std::string default_engine;
};

struct WorkloadInfo {
  std::string name;
  std::string summary;
  std::string definition;  ///< what happens to a packet, and what answer the client gets
  std::vector<Parameter> parameters;
  std::vector<StageInfo> stages;  ///< in order
  std::vector<InputKind> inputs;
  std::vector<std::string> sources;
};

/// What a workload is opened with.
struct Setting {
  Params params;
  std::map<std::string, std::string, std::less<>> engines;  ///< by stage; complete
  std::vector<std::string> stages;                          ///< those that run in this process; complete
  std::uint32_t cores = 1;
  std::uint32_t max_frame = 1518;  ///< with FCS
  std::uint32_t burst = 32;
  std::uint64_t seed = 1;
  std::string port_kind{};                       ///< of the port that faces the client
  std::span<const std::unique_ptr<Port>> ports;  ///< empty while it is only asked what is possible
};

/// What a stage became, for `ready.stages`.
struct StageReport {
  std::string name;
  std::string engine;
  PathInfo path;
  std::string verified;  ///< in words; nothing is timed that was not
  double build_ns = 0;
  std::size_t memory_bytes = 0;
};

/// A workload that is ready, shared by all cores.
class Pipeline {
 public:
  virtual ~Pipeline() = default;
  /// Of each stage that open() gives, in its order.
  [[nodiscard]] virtual std::vector<StageReport> report() const = 0;
  /// The stages of one core, in order; called on its thread, untimed. @throws Error
  [[nodiscard]] virtual std::vector<std::unique_ptr<Stage>> open(std::uint32_t core) = 0;
};

/// One of the client's frames as it will be sent, but for the trailer.
struct FrameTemplate {
  std::vector<std::byte> frame;  ///< buffer without FCS, trailer included
  std::uint32_t flow = 0;
};

/// What must come back; the client's side of a workload. Built before the first trial from all templates in the order in which
/// they are sent.
class Expectation {
 public:
  virtual ~Expectation() = default;
  enum class Answer : std::uint8_t { kRight, kWrong, kCannotTell };
  /// Judges a reply to template `index` (its trailer was valid). @param sent the frame as it was sent (flow patched) @param reply
  /// untrusted
  /// @param lossy packets of this flow were lost before, so that an answer that depends on them cannot be told
  [[nodiscard]] virtual Answer judge(std::uint32_t index, std::span<const std::byte> sent, std::span<const std::byte> reply,
                                     bool lossy) = 0;
  /// What is wrong with it, for people; called for the first wrong reply of a trial.
  [[nodiscard]] virtual std::string explain(std::uint32_t index, std::span<const std::byte> sent,
                                            std::span<const std::byte> reply) = 0;
  /// Whether a packet of this template may be dropped by the server on purpose (malformed, policy): then its loss is no loss.
  [[nodiscard]] virtual bool may_drop(std::uint32_t /*index*/) const { return false; }
};

class Workload {
 public:
  virtual ~Workload() = default;
  [[nodiscard]] virtual const WorkloadInfo& info() const = 0;
  /// Why this combination of (individually valid) parameters does not exist; empty if it does.
  [[nodiscard]] virtual std::string invalid(const Params&) const { return {}; }
  /// Why the engine of `stage` does not do this, and what to do; empty if it does. Asked with and without open ports.
  [[nodiscard]] virtual std::string unsupported(const Setting&, std::string_view /*stage*/) const { return {}; }
  /// Builds and verifies everything that cores share. @throws Error on unusable input, an engine that cannot run or is wrong
  [[nodiscard]] virtual std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& store,
                                                       const EngineCatalog& engines) const = 0;
  /// @throws Error
  [[nodiscard]] virtual std::unique_ptr<Expectation> expect(const Params& params, inputs::Store& store,
                                                            const EngineCatalog& engines,
                                                            std::span<const FrameTemplate> templates) const = 0;
  /// `given` with defaults filled in. @throws Error on an unknown parameter, a value out of its choices or range, or invalid()
  [[nodiscard]] Params complete(const Params& given) const;
};

/// Every workload linked in, by name.
std::span<const Workload* const> workloads();
/// nullptr when there is none of that name.
const Workload* find_workload(std::string_view name);
/// For the catalog: name, summary, definition, parameters, stages with their engines, inputs and sources of each workload.
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
