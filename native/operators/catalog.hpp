// The catalog of a build: operators, their parameters, and which engine can do what here.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "operators/engines.hpp"

namespace dpubench {

/// The `catalog` of a hello event (docs/architecture.md).
nlohmann::json catalog(const EngineCatalog& engines);

}  // namespace dpubench
