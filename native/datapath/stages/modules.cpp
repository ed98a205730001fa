#include "datapath/stages/modules.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "operators/devices.hpp"

namespace dpubench::datapath {
namespace {

namespace fs = std::filesystem;

StageModule load(const fs::path& file, const std::string& name) {
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return {name, dlerror()};
  const auto built_for = reinterpret_cast<std::uint32_t (*)()>(dlsym(module, "dpubench_stage_abi"));
  const auto engine = reinterpret_cast<const void* (*)()>(dlsym(module, "dpubench_stage_engine"));
  if (built_for == nullptr || engine == nullptr)
    return {name, file.string() + " is not a stage engine: it does not use DPUBENCH_STAGE_ENGINE"};
  if (built_for() != kStageEngineAbi) {
    return {name, file.string() + " was built for stage interface " + std::to_string(built_for()) + ", but this program has " +
                      std::to_string(kStageEngineAbi) + ": rebuild it"};
  }
  return {name, {}, static_cast<const StageEngine*>(engine())};
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  return text;
}

}  // namespace

fs::path stage_folder() {
  // Tests do not lie beside the program, so they name the folder.
  if (const char* const given = std::getenv("DPUBENCH_STAGE_DIR"); given != nullptr) return given;
  return program_folder() / "stages";
}

std::vector<StageModule> load_stage_modules(std::string_view workload) {
  const std::string prefix = std::string(workload) + "__";
  std::vector<StageModule> found;
  std::error_code none;  // without the folder, the program has no modules
  for (const auto& file : fs::directory_iterator(stage_folder(), none)) {
    const std::string stem = file.path().stem().string();
    if (!stem.starts_with(prefix)) continue;
    std::string name = stem.substr(prefix.size());
    std::replace(name.begin(), name.end(), '_', '-');
    if (file.path().extension() == ".so") found.push_back(load(file.path(), name));
    if (file.path().extension() == ".missing") found.push_back({name, text_of(file.path())});
  }
  std::sort(found.begin(), found.end(), [](const StageModule& a, const StageModule& b) { return a.name < b.name; });
  return found;
}

}  // namespace dpubench::datapath
