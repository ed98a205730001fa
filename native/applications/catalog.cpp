#include "applications/catalog.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "inputs/file.hpp"
#include "operators/catalog.hpp"
#include "operators/devices.hpp"

namespace dpubench::applications {

namespace fs = std::filesystem;
using nlohmann::json;

void ApplicationCatalog::load(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".so") slots_.push_back(load_module(it->path()));
    if (it->path().extension() == ".missing") {
      std::string reason(inputs::as_text(inputs::read_file(it->path(), "reason")));
      while (!reason.empty() && reason.back() == '\n') reason.pop_back();
      slots_.push_back({it->path().stem().string(), reason, nullptr});
    }
  }
  if (error) throw Error("application folder " + folder.string() + ": " + error.message() + "; build the programs");
  std::sort(slots_.begin(), slots_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

ApplicationSlot ApplicationCatalog::load_module(const fs::path& file) {
  ApplicationSlot slot{file.stem().string(), {}, nullptr};
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    slot.reason = dlerror();
    return slot;
  }
  const auto abi = reinterpret_cast<std::uint32_t (*)()>(dlsym(module, "dpubench_application_abi"));
  const auto get = reinterpret_cast<const ApplicationModule* (*)()>(dlsym(module, "dpubench_application"));
  if (abi == nullptr || get == nullptr) {
    slot.reason = file.string() + " is not an application module: it does not use DPUBENCH_APPLICATION";
  } else if (abi() != kApplicationAbi) {
    slot.reason = file.string() + " was built for another version of the application interface: rebuild it";
  } else {
    slot.module = get();
  }
  return slot;
}

const ApplicationModule& ApplicationCatalog::find(std::string_view name) const {
  std::string names;
  for (const ApplicationSlot& slot : slots_) {
    names += (names.empty() ? "" : ", ") + slot.name;
    if (slot.name != name) continue;
    if (slot.module == nullptr) throw Error("application " + slot.name + " cannot run here: " + slot.reason);
    return *slot.module;
  }
  throw Error("there is no application '" + std::string(name) + "'; there are: " + (names.empty() ? "none" : names));
}

json ApplicationCatalog::describe() const {
  json list = json::array();
  for (const ApplicationSlot& slot : slots_) {
    // The list also holds applications that are not available, with the reason.
    static const ApplicationInfo unknown{.name = {},
                                         .summary = "not built",
                                         .definition = "not built",
                                         .inputs = {{"none", "not known"}},
                                         .operators = {"none"},
                                         .parameters = {},
                                         .sources = {}};
    const ApplicationInfo& info = slot.module == nullptr ? unknown : slot.module->info();
    json inputs = json::array();
    for (const ApplicationInput& input : info.inputs) {
      json entry = {{"name", input.name}, {"summary", input.summary}};
      if (input.optional) entry["optional"] = true;
      if (!input.only_with.parameter.empty()) entry["only_with"] = {{input.only_with.parameter, input.only_with.value}};
      inputs.push_back(entry);
    }
    list.push_back({{"name", slot.name},
                    {"summary", info.summary},
                    {"definition", info.definition},
                    {"inputs", inputs},
                    {"operators", info.operators},
                    {"parameters", describe_parameters(info.parameters)},
                    {"sources", info.sources},
                    {"available", slot.reason.empty()},
                    {"reason", slot.reason}});
  }
  return list;
}

fs::path default_application_folder() {
  return program_folder() / "apps";
}

}  // namespace dpubench::applications
