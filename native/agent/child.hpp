// Runs a program for the agent. The program and all its descendants end when the connection ends.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "agent/connection.hpp"

namespace dpubench::agent {

struct Command {
  std::vector<std::string> words;                                ///< the first word is a path
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the agent's own
};

/// Run `command` with its standard input and output in frames over `connection`, and report its exit status or signal. Standard
/// error is the agent's own. Kill all descendants that outlive the command, whatever their group or session.
/// @throws Error when the command cannot be started; Ended when the connection ended or SIGHUP, SIGTERM or SIGINT came first: in
/// that case no process of the command is left
void run_program(Connection& connection, const Command& command);

/// The output of a helper (a vendor's tool).
struct Output {
  int status = -1;   ///< exit status, or -1 when the helper did not end by itself in time
  std::string text;  ///< standard output and error together, at most 64 KiB
};
/// Run `words` and return the output, after at most `limit_ms`. @throws Error when the helper cannot be started
Output capture(const std::vector<std::string>& words, int limit_ms);

}  // namespace dpubench::agent
