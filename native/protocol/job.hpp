// The job of a native program: the measurements to make. Jobs are untrusted. docs/architecture.md has the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.hpp"

namespace dpubench::protocol {

inline constexpr std::string_view kJobSchema = "dpubench.job/1";

struct JobPoint {
  std::string id;
  std::string engine;
  std::uint32_t in_flight = 0;  ///< jobs in flight at once; 0: the engine's default
};

enum class Footprint : std::uint8_t {
  kResident,  ///< 32 buffers
  kStream,    ///< beyond L2
  kMemory,    ///< beyond the last level of cache
};

struct JobGroup {
  std::string id;
  std::string op;
  Params params;
  std::uint32_t threads = 1;
  std::uint32_t burst = 32;
  Footprint footprint = Footprint::kStream;
  std::vector<JobPoint> points;
};

struct JobWindow {
  double min_ms = 3;
  double max_ms = 50;
  std::uint64_t min_bursts = 100;
  double threaded_min_ms = 200;
};

enum class Control : std::uint8_t {
  kAuto,
  kStepped,  ///< windows on command
  kTraced,   ///< no windows: the program runs the operations once between marks, for a recorder of instructions
};

struct Job {
  std::uint64_t seed = 1;
  std::uint32_t round = 0;
  Control control = Control::kAuto;
  std::uint64_t operations = 0;  ///< least number of operations to trace
  std::map<std::string, std::vector<std::filesystem::path>, std::less<>> inputs;
  std::filesystem::path cache_dir;
  std::vector<int> cpus;
  JobWindow window;
  std::uint32_t cycles = 6;
  bool canaries = true;
  double time_limit_s = 60;
  std::vector<JobGroup> groups;
};

/// The largest job that is read, in bytes.
inline constexpr std::size_t kMaxJobBytes = 64U << 20;

/// Parse a job. @throws Error with all faults of the job: each names the field (as a JSON pointer), the fault and the right form
Job parse_job(std::string_view text);

/// A line of a stepped session.
struct Command {
  std::string window;  ///< the point to run; empty: end of the session
};
/// Parse a command. @throws Error
Command parse_command(std::string_view line);

}  // namespace dpubench::protocol
