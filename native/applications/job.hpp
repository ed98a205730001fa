// The job of dpubench-applications: one application on one input. Jobs are untrusted. docs/applications.md has the format.
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
  Task task;  ///< parameters as the job gives them
  double time_limit_s = 3600;
};

/// Parse a job. @throws Error that names the field, the fault and the right form
ApplicationJob parse_application_job(std::string_view text);

/// Check, without running anything, whether applications exist with parameters. Return the event `checked`. Its `combinations`
/// are [{"invalid": the reason or an empty text, "engines": {}}], in the order of the question.
/// @param question  JSON text of [{"application", "params"}] @throws Error when it has another form
nlohmann::json check_applications(const ApplicationCatalog& catalog, std::string_view question);

/// The phase of run_application(), for reports of failures: "prepare", "inputs" (the application runs), "verify".
struct Phase {
  const char* name = "prepare";
};

/// Run the application between the marks of a region, then verify its output.
/// @returns the event `traced` @throws Error when it cannot run, its input is unusable, or its output is wrong
nlohmann::json run_application(const ApplicationJob& job, const ApplicationCatalog& catalog, Phase& phase);

}  // namespace dpubench::applications
