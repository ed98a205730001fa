// Runs a job: prepares each group, verifies each point, and alternates their windows.
#pragma once

#include <iosfwd>

#include "inputs/store.hpp"
#include "operators/engines.hpp"
#include "protocol/events.hpp"
#include "protocol/job.hpp"

namespace dpubench {

/// The outcome of a job, used as the exit status of the program.
enum class JobStatus : int { kDone = 0, kFailed = 1, kNothingRan = 4 };

/// Run a job and return its outcome. @param commands  stream of a stepped job's lines
JobStatus run_job(const protocol::Job& job, const EngineCatalog& engines, protocol::EventWriter& events, std::istream& commands);

}  // namespace dpubench
