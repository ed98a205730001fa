// Carries a job of dpubench-cores out.
#pragma once

#include "cores/model/job.hpp"
#include "protocol/events.hpp"

namespace dpubench::cores {

/// Most of a trace's executed instructions that the decoder may not know.
inline constexpr double kMostUnknown = 0.001;

/// Simulates all configurations in order: events progress, result, and failure of those that cannot be carried out; the rest goes
/// on.
/// @returns how many gave a result
std::size_t run_job(const CoresJob& job, protocol::EventWriter& events);

}  // namespace dpubench::cores
