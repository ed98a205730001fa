// Ends everything that a process has started, whatever its group or session.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

namespace dpubench {

/// Make orphans of this process's descendants its own children, so that end_descendants() finds them. @throws Error
void adopt_orphans();

/// Kill everything that this process has started, and wait until it is gone. Orphans of a killed process become children of this
/// one (adopt_orphans), and are killed next.
/// @returns the wait status of `pid` if nobody has taken it yet @param alive set when the kernel holds a process for longer than
/// `limit`: a dead disk or a dead device
std::optional<int> end_descendants(pid_t pid, std::chrono::milliseconds limit, bool& alive);

}  // namespace dpubench
