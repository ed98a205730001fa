// Loads engines of stages that are modules, because they need a library that may be missing. A module lies in the folder
// `stages` beside the program, as WORKLOAD__ENGINE.so, or as WORKLOAD__ENGINE.missing with the reason.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/stages/engine.hpp"

namespace dpubench::datapath {

struct StageModule {
  std::string name;    ///< name of the engine, from its file
  std::string reason;  ///< why it could not be loaded; empty if it could
  const StageEngine* engine = nullptr;
};

/// Return the folder of modules: $DPUBENCH_STAGE_DIR, else the folder `stages` beside the program.
std::filesystem::path stage_folder();
/// Load the modules of `workload`, for good.
std::vector<StageModule> load_stage_modules(std::string_view workload);

}  // namespace dpubench::datapath
