// Runs programs for the agent, several on one connection. All of them and their descendants end when the connection ends.
#pragma once

#include <functional>
#include <string>

#include "agent/connection.hpp"
#include "agent/process.hpp"

namespace dpubench::agent {

/// Most programs that run at the same time.
inline constexpr std::size_t kMaxPrograms = 64;

/// Reads the command in a request. @throws Error
using ReadCommand = std::function<Command(const std::string& request)>;

/// Run the program that `first` asks for, and further ones as requests for them come, until the connection ends. Their standard
/// input, output and error are in frames that bear the program's number. Kill all descendants that outlive a program, whatever
/// their group or session, and then report how it ended. A program that cannot be started is reported, and the others go on.
/// @throws Ended when the connection ended or SIGHUP, SIGTERM or SIGINT came, Error when a frame breaks the rules: in both cases
/// no process of a program is left
void run_programs(Connection& connection, const Frame& first, const ReadCommand& read_command);

}  // namespace dpubench::agent
