// Finds and loads engine modules.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "operators/engine.hpp"

namespace dpubench {

/// An engine, or the reason why no engine of this name is here.
struct EngineSlot {
  std::string op;
  std::string name;
  std::string reason;              ///< why it cannot run here; empty if it can
  const Engine* engine = nullptr;  ///< null where the module could not be loaded
};

/// All engines of a process. Modules stay loaded until the process ends, because libraries such as DPDK cannot be unloaded.
class EngineCatalog {
 public:
  /// Load every module `<operator>__<file>.so` of `folder`, and read why other modules were not built (`.missing`). A module that
  /// does not load becomes a slot with the loader's message. @throws Error when the folder cannot be read
  void load(const std::filesystem::path& folder);
  /// Add an engine directly (tests).
  void add(std::unique_ptr<const Engine> engine);
  /// Return the engines of an operator: the reference first, then by name.
  [[nodiscard]] std::vector<const EngineSlot*> of(const Operator& op) const;
  [[nodiscard]] const EngineSlot* find(std::string_view op, std::string_view name) const;

 private:
  void load_module(const std::filesystem::path& file);
  std::vector<std::unique_ptr<const Engine>> owned_;
  std::vector<std::unique_ptr<EngineSlot>> slots_;
};

/// Return the folder of engine modules beside the running program.
std::filesystem::path default_engine_folder();

}  // namespace dpubench
