// The counters of a simulated processor.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "cores/model/description.hpp"

namespace dpubench::cores {

/// The reason why no instruction of a context entered the window in a cycle.
enum class Cause : std::uint8_t {
  kNone,
  kFrontEnd,         ///< instructions are on their way from fetch, for example behind a taken branch
  kInstructionMiss,  ///< a miss of the instruction cache or the TLB
  kBranch,           ///< a mispredicted branch is not executed yet, or its successors are on their way
  kWindow,           ///< reorder buffer full
  kQueue,            ///< issue queue full
  kLoads,            ///< load queue full
  kStores,           ///< store queue full
  kSwitch,           ///< switch_on_stall: its miss is not over, or another context has the core
  kOther,            ///< other contexts used the cycle
};
inline constexpr std::size_t kCauses = 10;
inline constexpr std::array<std::string_view, kCauses> kCauseNames = {
    "none", "front_end", "instruction_miss", "branch", "window", "queue", "loads", "stores", "switch", "other_contexts"};

struct CacheCounters {
  std::uint64_t accesses = 0;
  std::uint64_t misses = 0;  ///< first accesses to lines that are neither here nor on their way
  std::uint64_t late = 0;    ///< accesses to a line on its way
  std::uint64_t write_backs = 0;
  std::uint64_t prefetches = 0;
  std::uint64_t prefetch_hits = 0;  ///< prefetched lines that were accessed later
};

struct TlbCounters {
  std::uint64_t accesses = 0;
  std::uint64_t misses = 0;
  std::uint64_t walks = 0;  ///< accesses that also missed in the second level
};

struct MemoryCounters {
  std::uint64_t reads = 0;           ///< lines
  std::uint64_t writes = 0;          ///< lines
  std::uint64_t waiting_cycles = 0;  ///< cycles that reads waited for banks and bandwidth
};

struct DmaCounters {
  std::uint64_t frames = 0;
  std::uint64_t lost = 0;  ///< frames lost because memory was behind by more than the ring holds
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
  std::uint64_t forwarded = 0;  ///< loads that got their data from a store in the queue
};

nlohmann::json to_json(const CacheCounters& counters);
nlohmann::json to_json(const TlbCounters& counters);
nlohmann::json to_json(const MemoryCounters& counters);
nlohmann::json to_json(const DmaCounters& counters);
nlohmann::json to_json(const ContextCounters& counters);

}  // namespace dpubench::cores
