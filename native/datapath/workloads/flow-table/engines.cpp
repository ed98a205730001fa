// The list of engines: those linked in, and the modules in the folder `stages` beside the program.
#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "datapath/workloads/flow-table/engine.hpp"
#include "operators/devices.hpp"

namespace dpubench::datapath::flow_table {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModulePrefix = "flow-table__";

std::vector<const TableEngine*>& linked() {
  static std::vector<const TableEngine*> engines;
  return engines;
}

EngineEntry entry_of(const TableEngine& engine) {
  return {engine.name(), engine.summary(), engine.unavailable(), &engine};
}

/// What becomes of a module; its file says the engine's name when it cannot itself.
EngineEntry load(const fs::path& file, const std::string& name) {
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return {name, {}, dlerror(), nullptr};
  const auto abi = reinterpret_cast<std::uint32_t (*)()>(dlsym(module, "dpubench_stage_abi"));
  const auto engine = reinterpret_cast<const TableEngine* (*)()>(dlsym(module, "dpubench_stage_engine"));
  if (abi == nullptr || engine == nullptr)
    return {name, {}, file.string() + " is no engine of a stage: it does not use DPUBENCH_STAGE_ENGINE", nullptr};
  if (abi() != kTableEngineAbi) {
    return {name,
            {},
            file.string() + " was built for stage interface " + std::to_string(abi()) + ", this program has " +
                std::to_string(kTableEngineAbi) + ": rebuild it",
            nullptr};
  }
  return entry_of(*engine());
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  return text;
}

std::vector<EngineEntry> find_all() {
  std::vector<EngineEntry> found;
  for (const TableEngine* const engine : linked()) found.push_back(entry_of(*engine));
  std::error_code none;  // no folder: a program without modules
  for (const auto& file : fs::directory_iterator(stage_folder(), none)) {
    const std::string stem = file.path().stem().string();
    if (!stem.starts_with(kModulePrefix)) continue;
    std::string name = stem.substr(kModulePrefix.size());
    std::replace(name.begin(), name.end(), '_', '-');
    if (file.path().extension() == ".so") found.push_back(load(file.path(), name));
    if (file.path().extension() == ".missing") found.push_back({name, {}, text_of(file.path()), nullptr});
  }
  std::sort(found.begin(), found.end(), [](const EngineEntry& a, const EngineEntry& b) {
    return std::pair(a.name != "portable", a.name) < std::pair(b.name != "portable", b.name);
  });
  return found;
}

}  // namespace

std::filesystem::path stage_folder() {
  // Tests lie elsewhere than the program.
  if (const char* const given = std::getenv("DPUBENCH_STAGE_DIR"); given != nullptr) return given;
  return program_folder() / "stages";
}

std::span<const EngineEntry> engines() {
  static const std::vector<EngineEntry> found = find_all();
  return found;
}

detail::EngineRegistrar::EngineRegistrar(const TableEngine& engine) {
  linked().push_back(&engine);
}

}  // namespace dpubench::datapath::flow_table
