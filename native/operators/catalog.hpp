// The catalog of a build: operators, their parameters, and the configurations that each engine can run here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "operators/engines.hpp"

namespace dpubench {

/// Return the `catalog` of a hello event (docs/architecture.md).
nlohmann::json catalog(const EngineCatalog& engines);

/// Return the parameters and the inputs of a catalog entry, in the form that operators and workloads share.
nlohmann::json describe_parameters(std::span<const Parameter> parameters);
nlohmann::json describe_inputs(std::span<const InputKind> inputs);

/// Return the `checked` event: for each combination of parameters, whether it exists and which engines can do it.
/// @param combinations  JSON text of [{"operator": NAME, "params": {NAME: VALUE}}] @throws Error on any other text
nlohmann::json check_combinations(const EngineCatalog& engines, const std::string& combinations);

/// Return the `checked` event: for each file, whether it is of its kind. The code that reads inputs for operators decides.
/// @param files  JSON text of [{"kind": NAME, "file": PATH}] @throws Error on any other text
nlohmann::json check_inputs(const std::string& files);

}  // namespace dpubench
