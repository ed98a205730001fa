// The catalog of a build: operators, their parameters, and which engine can do what here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "operators/engines.hpp"

namespace dpubench {

/// The `catalog` of a hello event (docs/architecture.md).
nlohmann::json catalog(const EngineCatalog& engines);

/// Entries of a catalog, the same for operators and workloads.
nlohmann::json describe_parameters(std::span<const Parameter> parameters);
nlohmann::json describe_inputs(std::span<const InputKind> inputs);

/// Whether combinations of parameters exist, and which engines can do them: the `checked` event. @param combinations  JSON text
/// of
/// [{"operator": NAME, "params": {NAME: VALUE}}] @throws Error when it is none
nlohmann::json check_combinations(const EngineCatalog& engines, const std::string& combinations);

/// Whether files are what their kinds say, by the code that operators read them with: the `checked` event.
/// @param files  JSON text of [{"kind": NAME, "file": PATH}] @throws Error when it is none
nlohmann::json check_inputs(const std::string& files);

}  // namespace dpubench
