// Runs helpers of the agent, such as vendors' tools.
#pragma once

#include <string>
#include <vector>

namespace dpubench::agent {

/// The output of a helper.
struct Output {
  int status = -1;   ///< exit status, or -1 when the helper did not end by itself in time
  std::string text;  ///< standard output and error together, at most 64 KiB
};
/// Run `words` and return the output, after at most `limit_ms`. @throws Error when the helper cannot be started
Output capture(const std::vector<std::string>& words, int limit_ms);

}  // namespace dpubench::agent
