// Finds and loads the modules of applications.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "applications/application.hpp"

namespace dpubench::applications {

/// An application, or the reason why there is none of that name here.
struct ApplicationSlot {
  std::string name;
  std::string reason;                         ///< why it cannot run here; empty if it can
  const ApplicationModule* module = nullptr;  ///< null where there is a reason
};

class ApplicationCatalog {
 public:
  /// Loads every module `<application>.so` of `folder`, and the reasons of modules not built (`.missing`).
  /// @throws Error when the folder cannot be read
  void load(const std::filesystem::path& folder);
  /// By name.
  [[nodiscard]] const std::vector<ApplicationSlot>& all() const { return slots_; }
  /// @throws Error when there is none of that name, or it cannot run here
  [[nodiscard]] const ApplicationModule& find(std::string_view name) const;
  /// What `--list` tells of them.
  [[nodiscard]] nlohmann::json describe() const;

 private:
  [[nodiscard]] static ApplicationSlot load_module(const std::filesystem::path& file);
  std::vector<ApplicationSlot> slots_;
};

/// The folder of modules beside the running program.
std::filesystem::path default_application_folder();

}  // namespace dpubench::applications
