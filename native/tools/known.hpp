// The outside programs that dpubench-tool may run, and where they are on this machine.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace dpubench::tools {

/// An outside program. A job names it by `name` and by nothing else, so that a job can start no other program.
struct Tool {
  std::string_view name;
  std::string_view package;         ///< Debian package that holds it
  std::string_view version_option;  ///< option that makes it print its version
};

/// Return all outside programs.
std::span<const Tool> tools();

/// Return the tool `name`. @throws Error that lists all names when there is none
const Tool& find_tool(std::string_view name);

/// Return the path of a tool in the folders of /usr/local, /usr and /, or an empty path. PATH does not count: it differs between
/// a login and a command over ssh.
std::filesystem::path path_of(const Tool& tool);

/// Return the first number with a point in what a program printed about itself, such as "0.15.06"; empty without one.
std::string version_in(std::string_view text);

/// Return the catalog of `--list`: the tools with path, package and version (empty where they are missing), whether programs run
/// as root, the CPUs that they may use, and the devices for RDMA verbs.
nlohmann::json catalog();

}  // namespace dpubench::tools
