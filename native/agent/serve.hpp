// Answers the agent's requests (docs/architecture.md, "The agent").
#pragma once

#include <filesystem>

#include "agent/connection.hpp"

namespace dpubench::agent {

/// The paths of this agent and its programs.
struct Place {
  std::filesystem::path loader;  ///< the bundle's loader; empty where the programs run without it
  std::filesystem::path lib;     ///< programs and libraries
  std::filesystem::path home;    ///< the target's folder, with its marker; empty when dpubench did not install this agent
};

/// Return the paths, derived from the running program. @throws Error
Place find_place();

/// Answer requests, and from the first program on run programs, until the other side closes the connection.
/// @throws Ended, dpubench::Error
void serve(Connection& connection, const Place& place);

/// The marker file of a folder that belongs to dpubench.
inline constexpr const char* kMarker = ".dpubench-target";

}  // namespace dpubench::agent
