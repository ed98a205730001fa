// Engines of stages that are modules of their own, since they need a library that may be missing: found in the folder `stages`
// beside the program, as WORKLOAD__ENGINE.so, or WORKLOAD__ENGINE.missing with the reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::datapath {

struct StageModule {
  std::string name;              ///< of the engine, as its file says
  std::string reason;            ///< why it could not be loaded; empty if it could
  const void* engine = nullptr;  ///< what dpubench_stage_engine() gives: of the type that the workload's modules agree on
};

/// Where modules lie: $DPUBENCH_STAGE_DIR, else the folder `stages` beside the program.
std::filesystem::path stage_folder();
/// Loads those of `workload`, for good. @param abi  what dpubench_stage_abi() of its modules says
std::vector<StageModule> load_stage_modules(std::string_view workload, std::uint32_t abi);

}  // namespace dpubench::datapath

/// A module's only exports. @param Base  the type that is handed over @param Type  of that kind, default-constructible
#define DPUBENCH_STAGE_MODULE(Abi, Base, Type)                                    \
  extern "C" [[gnu::visibility("default")]] std::uint32_t dpubench_stage_abi() {  \
    return Abi;                                                                   \
  }                                                                               \
  extern "C" [[gnu::visibility("default")]] const void* dpubench_stage_engine() { \
    static const Type engine{};                                                   \
    return static_cast<const Base*>(&engine);                                     \
  }
