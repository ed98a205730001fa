// For tests: the engine modules that this build made.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "operators/engines.hpp"

namespace dpubench::test {

/// A folder that the build names to its tests. @throws Error when it does not
inline std::filesystem::path build_folder(const char* variable) {
  const char* const folder = std::getenv(variable);
  if (folder == nullptr) throw Error(std::string(variable) + " is not set: run the tests through `make test` or `meson test`");
  return folder;
}

/// Loaded once: engines live as long as their modules, until the process ends.
inline const EngineCatalog& engines() {
  static const EngineCatalog& catalog = *[] {
    auto* loaded = new EngineCatalog;
    loaded->load(build_folder("DPUBENCH_ENGINE_DIR"));
    return loaded;
  }();
  return catalog;
}

}  // namespace dpubench::test
