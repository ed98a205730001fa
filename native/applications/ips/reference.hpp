// The same verdicts, found slowly: streams octet by octet, every rule interpreted on everything, no look for literals before.
#pragma once

#include <string>

#include "inputs/capture.hpp"
#include "inputs/rules.hpp"

namespace dpubench::applications {

/// What the application must write for these packets and rules.
std::string slow_verdicts(const inputs::Capture& capture, const inputs::RuleList& rules);

}  // namespace dpubench::applications
