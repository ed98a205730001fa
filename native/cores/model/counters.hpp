// What is counted while a processor is simulated.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "cores/model/description.hpp"

namespace dpubench::cores {

/// Why no instruction of a context entered the window in a cycle.
enum class Cause : std::uint8_t {
  kNone,
  kFrontEnd,         ///< instructions are on their way from fetch, behind a taken branch for instance
  kInstructionMiss,  ///< cache or TLB
  kBranch,           ///< a mispredicted branch is not executed yet, or what follows it is on its way
  kWindow,           ///< reorder buffer full
  kQueue,            ///< issue queue full
  kLoads,            ///< load queue full
  kStores,           ///< store queue full
  kSwitch,           ///< switch_on_stall: its miss is under way, or another context has the core
  kOther,            ///< other contexts had the cycle
};
inline constexpr std::size_t kCauses = 10;
inline constexpr std::array<std::string_view, kCauses> kCauseNames = {
    "none", "front_end", "instruction_miss", "branch", "window", "queue", "loads", "stores", "switch", "other_contexts"};

struct CacheCounters {
  std::uint64_t accesses = 0;
  std::uint64_t misses = 0;  ///< the first access to a line that is not there, nor on its way
  std::uint64_t late = 0;    ///< accesses to a line on its way
  std::uint64_t write_backs = 0;
  std::uint64_t prefetches = 0;
  std::uint64_t prefetch_hits = 0;  ///< prefetched lines that were asked for
};

struct TlbCounters {
  std::uint64_t accesses = 0;
  std::uint64_t misses = 0;
  std::uint64_t walks = 0;  ///< misses of the second level too
};

struct MemoryCounters {
  std::uint64_t reads = 0;           ///< lines
  std::uint64_t writes = 0;          ///< lines
  std::uint64_t waiting_cycles = 0;  ///< of reads, for banks and bandwidth
};

struct DmaCounters {
  std::uint64_t frames = 0;
  std::uint64_t lost = 0;  ///< of these: memory was behind by more than the ring holds
};

struct ContextCounters {
  std::uint64_t instructions = 0;
  std::uint64_t messages = 0;
  std::array<std::uint64_t, kKinds> kinds{};
  std::array<std::uint64_t, kCauses> stalls{};  ///< cycles
  std::uint64_t branches = 0;
  std::uint64_t conditional = 0;
  std::uint64_t mispredicted = 0;
  std::uint64_t late_targets = 0;
  std::uint64_t loads = 0;
  std::uint64_t stores = 0;
  std::uint64_t forwarded = 0;  ///< loads that a store in the queue gave their data
};

nlohmann::json to_json(const CacheCounters& counters);
nlohmann::json to_json(const TlbCounters& counters);
nlohmann::json to_json(const MemoryCounters& counters);
nlohmann::json to_json(const DmaCounters& counters);
nlohmann::json to_json(const ContextCounters& counters);

}  // namespace dpubench::cores
