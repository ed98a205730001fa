// A slow reference for the verdicts: it builds streams octet by octet and interprets every rule on every text, without literals.
#pragma once

#include <string>

#include "inputs/capture.hpp"
#include "inputs/rules.hpp"

namespace dpubench::applications {

/// Return the output that the application must write for these packets and rules.
std::string slow_verdicts(const inputs::Capture& capture, const inputs::RuleList& rules);

}  // namespace dpubench::applications
