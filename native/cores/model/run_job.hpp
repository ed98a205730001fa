// Runs a job of dpubench-cores.
#pragma once

#include "cores/model/job.hpp"
#include "protocol/events.hpp"

namespace dpubench::cores {

/// The largest share of executed instructions that the decoder may not know.
inline constexpr double kMostUnknown = 0.001;

/// Simulate all configurations in order. Write events: progress, result, and failure for a configuration that cannot run. The
/// others still run. @returns the number of results
std::size_t run_job(const CoresJob& job, protocol::EventWriter& events);

}  // namespace dpubench::cores
