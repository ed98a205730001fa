// The interface of an engine of a stage: one way to do the stage's work that is not an operator's engine. An engine is one file
// in the folder of its workload. It registers with DPUBENCH_LINKED_STAGE_ENGINE. If it needs a library that may be missing, it is
// a module that uses DPUBENCH_STAGE_ENGINE (found in the folder `stages` beside the program).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "datapath/stages/pipeline.hpp"
#include "inputs/store.hpp"

namespace dpubench::datapath {

/// Version of the interface. Raise it when anything that a module sees changes.
inline constexpr std::uint32_t kStageEngineAbi = 4;

class StageEngine {
 public:
  virtual ~StageEngine() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual const char* summary() const = 0;
  /// Return the kind of port whose packets it answers before a loop sees them; empty: it works on packets that loops see.
  [[nodiscard]] virtual const char* port() const { return ""; }
  /// Return why it cannot run on this machine, or an empty string if it can. Cheap.
  [[nodiscard]] virtual std::string unavailable() const { return {}; }
  /// Return why it does not do this, and what to do, or an empty string if it does. Called with and without open ports.
  [[nodiscard]] virtual std::string unsupported(const Setting&) const { return {}; }
  /// Verify the engine and put it to work. @throws Error
  [[nodiscard]] virtual std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& store) const = 0;
};

/// The description of an engine of a stage, whether it is a StageEngine or an operator's.
struct StageEngineInfo {
  std::string name;
  std::string summary;
  std::string reason;  ///< why it cannot run here; empty if it can
  std::string port{};  ///< StageEngine::port()
};

/// An engine, or the reason why there is none of that name here.
struct StageEngineEntry {
  StageEngineInfo info;
  const StageEngine* engine = nullptr;  ///< null where its module could not be loaded
};

/// Return the engines of a workload's own stage: portable first, then by name. The first call loads the modules.
std::span<const StageEngineEntry> stage_engines(std::string_view workload);
/// Return the descriptions of these engines.
std::vector<StageEngineInfo> stage_engine_infos(std::string_view workload);
/// Return why the engine of this name does not do `setting`, or an empty string if it does or there is none of that name.
std::string stage_engine_unsupported(std::string_view workload, std::string_view name, const Setting& setting);
/// Open the engine of a workload's own stage that `setting` names, or a pipeline without stages if `stage` does not run in this
/// process. @throws Error with the reason when there is no such engine or it cannot do this
std::unique_ptr<Pipeline> open_stage_engine(const std::string& workload, const std::string& stage, const Setting& setting,
                                            inputs::Store& store);

namespace detail {
struct StageEngineRegistrar {
  StageEngineRegistrar(const char* workload, const StageEngine& engine);
};
}  // namespace detail

}  // namespace dpubench::datapath

/// Register `Type` (a StageEngine, default-constructible) with the workload of this name. Use this once, at namespace scope of
/// the engine's file.
#define DPUBENCH_LINKED_STAGE_ENGINE(workload, Type)                                                  \
  static const Type dpubench_stage_engine_##Type{};                                                   \
  static const ::dpubench::datapath::detail::StageEngineRegistrar dpubench_registrar_##Type(workload, \
                                                                                            dpubench_stage_engine_##Type)

/// Define a module's only exports. `Type` is a StageEngine, default-constructible.
#define DPUBENCH_STAGE_ENGINE(Type)                                               \
  extern "C" [[gnu::visibility("default")]] std::uint32_t dpubench_stage_abi() {  \
    return ::dpubench::datapath::kStageEngineAbi;                                 \
  }                                                                               \
  extern "C" [[gnu::visibility("default")]] const void* dpubench_stage_engine() { \
    static const Type engine{};                                                   \
    return static_cast<const ::dpubench::datapath::StageEngine*>(&engine);        \
  }
