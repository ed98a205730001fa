// The job of dpubench-applications: one application on one input. Untrusted; docs/applications.md has the format.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "applications/application.hpp"
#include "applications/catalog.hpp"

namespace dpubench::applications {

inline constexpr std::string_view kJobSchema = "dpubench.application-job/1";

struct ApplicationJob {
  std::string application;
  Task task;  ///< parameters as they were given
  double time_limit_s = 3600;
};

/// @throws Error naming the field, what is wrong and what is right
ApplicationJob parse_application_job(std::string_view text);

/// Whether applications exist with parameters, without running anything: the event `checked`, with `combinations` [{"invalid":
/// why there is none, empty if there is, "engines": {}}] in the order asked. @param question  JSON text of [{"application",
/// "params"}] @throws Error when it is none
nlohmann::json check_applications(const ApplicationCatalog& catalog, std::string_view question);

/// What run_application() is at, for the failure of one: "prepare", "inputs" (the application runs), "verify".
struct Phase {
  const char* name = "prepare";
};

/// Runs the application between the marks of a region, then verifies what came out.
/// @returns the event `traced` @throws Error when it cannot run, its input is unusable, or its output is wrong
nlohmann::json run_application(const ApplicationJob& job, const ApplicationCatalog& catalog, Phase& phase);

}  // namespace dpubench::applications
