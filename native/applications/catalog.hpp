// Finds and loads the modules of applications.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "applications/application.hpp"

namespace dpubench::applications {

/// An application, or the reason why it cannot run here.
struct ApplicationSlot {
  std::string name;
  std::string reason;                         ///< why it cannot run here; empty if it can
  const ApplicationModule* module = nullptr;  ///< null if there is a reason
};

class ApplicationCatalog {
 public:
  /// Load every module `<application>.so` of `folder`, and the reasons of the modules that were not built (`.missing`).
  /// @throws Error when the folder cannot be read
  void load(const std::filesystem::path& folder);
  /// Return all applications, sorted by name.
  [[nodiscard]] const std::vector<ApplicationSlot>& all() const { return slots_; }
  /// Return the module of an application. @throws Error when there is no such application, or it cannot run here
  [[nodiscard]] const ApplicationModule& find(std::string_view name) const;
  /// Return the list of applications that `--list` prints.
  [[nodiscard]] nlohmann::json describe() const;

 private:
  [[nodiscard]] static ApplicationSlot load_module(const std::filesystem::path& file);
  std::vector<ApplicationSlot> slots_;
};

/// Return the folder of modules beside the running program.
std::filesystem::path default_application_folder();

}  // namespace dpubench::applications
