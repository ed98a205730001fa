// What the agent does, request by request: docs/architecture.md, "The agent".
#pragma once

#include <filesystem>

#include "agent/connection.hpp"

namespace dpubench::agent {

/// Where this agent and its programs are.
struct Place {
  std::filesystem::path loader;  ///< of the bundle; empty where the programs run without
  std::filesystem::path lib;     ///< programs and libraries
  std::filesystem::path home;    ///< the target's folder, with its marker; empty when nobody installed this
};

/// Told from the running program. @throws Error
Place find_place();

/// Answers requests until the other side closes or a program has run. @throws Ended, dpubench::Error
void serve(Connection& connection, const Place& place);

/// The marker that tells a folder of dpubench's from any other.
inline constexpr const char* kMarker = ".dpubench-target";

}  // namespace dpubench::agent
