// The job of dpubench-offload and the commands that follow it. Both are untrusted input. docs/offload-study.md describes them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::offload {

inline constexpr std::string_view kJobSchema = "dpubench.offload-job/1";
inline constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
/// Most iterations of a phase: as a trial asks for them, and as a calibration finds them.
inline constexpr std::uint32_t kMostIterations = 10'000;
inline constexpr std::uint32_t kMostCalibrated = 1'000;

/// What a rank does: it owns data and computes, or it moves the data of others.
enum class Role : std::uint8_t { kHost, kWorker };

enum class Pattern : std::uint8_t {
  kBroadcast,
  kScatter,
  kGather,
  kAllgather,        ///< all blocks pass through worker 0
  kAllgatherShared,  ///< workers exchange blocks among themselves
  kAllToAll,
  kReduce,
  kAllreduce,
};
enum class Path : std::uint8_t {
  kStaged,  ///< through the memory of a worker
  kDirect,  ///< from host to host, without a copy in the memory of a worker
};
enum class Assignment : std::uint8_t { kCyclic, kBlock, kTopology };
/// What hosts compute.
enum class WorkKind : std::uint8_t { kCache, kMemory };

/// The words of jobs, commands and events.
inline constexpr std::array<std::string_view, 8> kPatterns{"broadcast",        "scatter",    "gather", "allgather",
                                                           "allgather-shared", "all-to-all", "reduce", "allreduce"};
inline constexpr std::array<std::string_view, 2> kPaths{"staged", "direct"};
inline constexpr std::array<std::string_view, 3> kAssignments{"cyclic", "block", "topology"};
inline constexpr std::array<std::string_view, 2> kWork{"cache", "memory"};
inline constexpr std::array<std::string_view, 2> kRoles{"host", "worker"};

template <class Enum, std::size_t N>
std::string word_of(const std::array<std::string_view, N>& words, Enum value) {
  return std::string(words.at(static_cast<std::size_t>(value)));
}

struct OffloadJob {
  std::uint64_t seed = 1;
  double time_limit_s = 3600;
  std::uint32_t hosts = 1;
  std::uint32_t workers = 1;
  std::string transport = "ucx";
  bool allow_emulated = false;
  std::uint64_t largest_bytes = std::uint64_t{1} << 20;  ///< largest message of a trial
  double limit_s = 60;                                   ///< limit of each phase
  /// Time after which transfers that nobody helps count as never arriving; one-sided ones take microseconds. Not in the text.
  double proof_limit_s = 5;
  std::vector<int> host_cpus;  ///< empty: ranks stay where the launcher put them
  std::vector<int> worker_cpus;
  std::map<std::string, std::string, std::less<>> attached;  ///< node of a device -> node of its host, where they differ
};

struct TrialSpec {
  Pattern pattern = Pattern::kBroadcast;
  Path path = Path::kStaged;
  Assignment assignment = Assignment::kBlock;
  std::uint64_t bytes = 1;
  WorkKind work = WorkKind::kCache;
  std::uint32_t iterations = 0;  ///< 0: as many as fill `window_ms`
  double window_ms = 10;
  double compute_ratio = 1;  ///< time of the computation over that of the reference
};

/// Parse a job. @throws Error that names each faulty field (as a JSON pointer), with what is wrong and what is right
OffloadJob parse_job(std::string_view text);
/// Parse a command; nothing for the last one. @throws Error that lists the commands, or names each faulty field
std::optional<TrialSpec> parse_command(std::string_view line);

}  // namespace dpubench::offload
