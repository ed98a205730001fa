// The job of dpubench-tool, and the commands that follow it. Both are untrusted. docs/tools.md has the format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dpubench::tools {

inline constexpr std::string_view kJobSchema = "dpubench.tool-job/1";

struct ToolJob {
  std::string tool;  ///< one of tools()
  std::vector<std::string> arguments;
  double time_limit_s = 3600;
  std::string ready;                 ///< text in its output that tells that it listens; empty: it does not matter
  std::vector<std::string> collect;  ///< names of files that it writes into its working folder and that are wanted
  bool unprivileged = false;         ///< root runs it as the user nobody; for other users it makes no difference
};

/// Parse a job. @throws Error that names each field, its fault and the right form
ToolJob parse_tool_job(std::string_view text);

enum class Command {
  kCpu,  ///< tell the processor times of the machine
  kEnd,  ///< end the program, and tell how it ended
};

/// Parse a command: {"cpu": true} or {"end": true}. @throws Error
Command parse_command(std::string_view text);

}  // namespace dpubench::tools
