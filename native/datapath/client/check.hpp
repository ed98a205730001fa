// Compares both accounts of a trial: it finds where each packet was lost, and whether every flow was counted right.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/params.hpp"
#include "datapath/client/traffic.hpp"
#include "datapath/client/trial.hpp"

namespace dpubench::datapath {

/// Check a trial. @param workload  the workload's parameters: `key` says what a flow is @param folder  folder that the server
/// dumped into
/// @return fields of the event `checked` @throws Error when a file is missing or is no dump
nlohmann::json check_trial(const TrialRunner& runner, const Traffic& traffic, const Expectation* expectation,
                           const Params& workload, const std::string& folder);

}  // namespace dpubench::datapath
