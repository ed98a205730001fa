// The engine modules of this build, for tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "operators/engines.hpp"

namespace dpubench::test {

/// Return a folder that the build gives to its tests in an environment variable. @throws Error when the variable is not set
inline std::filesystem::path build_folder(const char* variable) {
  const char* const folder = std::getenv(variable);
  if (folder == nullptr) throw Error(std::string(variable) + " is not set: run the tests through `make test` or `meson test`");
  return folder;
}

/// Return the engine modules, loaded once. Engines live as long as their modules: until the process ends.
inline const EngineCatalog& engines() {
  static const EngineCatalog& catalog = *[] {
    auto* loaded = new EngineCatalog;
    loaded->load(build_folder("DPUBENCH_ENGINE_DIR"));
    return loaded;
  }();
  return catalog;
}

}  // namespace dpubench::test
