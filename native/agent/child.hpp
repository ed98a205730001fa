// A program under the agent's care: it ends, with all that it started, when the connection does.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "agent/connection.hpp"

namespace dpubench::agent {

struct Command {
  std::vector<std::string> words;                                ///< the first is a path
  std::vector<std::pair<std::string, std::string>> environment;  ///< on top of the agent's own
};

/// Runs `command` with its standard input and output in frames over `connection` (standard error is the agent's own) and sends
/// how it ended. Descendants that outlive it, in whatever group or session, are killed.
/// @throws Error when it cannot be started; Ended when the connection, SIGHUP, SIGTERM or SIGINT came first: nothing of it is
/// left then
void run_program(Connection& connection, const Command& command);

/// What a helper (a vendor's tool) printed.
struct Output {
  int status = -1;   ///< exit status, or -1 when it did not end by itself in time
  std::string text;  ///< standard output and error together, at most 64 KiB
};
/// Runs `words` and reads what it prints, for at most `limit_ms`. @throws Error when it cannot be started
Output capture(const std::vector<std::string>& words, int limit_ms);

}  // namespace dpubench::agent
