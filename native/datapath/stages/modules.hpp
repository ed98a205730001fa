// Loads engines of stages that are modules, because they need a library that may be missing. A module lies in the folder
// `stages` beside the program, as WORKLOAD__ENGINE.so, or as WORKLOAD__ENGINE.missing with the reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::datapath {

struct StageModule {
  std::string name;              ///< name of the engine, from its file
  std::string reason;            ///< why it could not be loaded; empty if it could
  const void* engine = nullptr;  ///< result of dpubench_stage_engine(), of the type that the workload's modules agree on
};

/// Return the folder of modules: $DPUBENCH_STAGE_DIR, else the folder `stages` beside the program.
std::filesystem::path stage_folder();
/// Load the modules of `workload`, for good. @param abi  the value that dpubench_stage_abi() of its modules must return
std::vector<StageModule> load_stage_modules(std::string_view workload, std::uint32_t abi);

}  // namespace dpubench::datapath

/// Define a module's only exports. @param Base  the type that is handed over @param Type  a class derived from it,
/// default-constructible
#define DPUBENCH_STAGE_MODULE(Abi, Base, Type)                                    \
  extern "C" [[gnu::visibility("default")]] std::uint32_t dpubench_stage_abi() {  \
    return Abi;                                                                   \
  }                                                                               \
  extern "C" [[gnu::visibility("default")]] const void* dpubench_stage_engine() { \
    static const Type engine{};                                                   \
    return static_cast<const Base*>(&engine);                                     \
  }
