// A processor as the model sees it: the content of a model description in JSON. docs/cores.md has the keys.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cores/instruction.hpp"

namespace dpubench::cores {

inline constexpr std::uint32_t kMaxCores = 64;
inline constexpr std::uint32_t kMaxContexts = 16;  ///< per core
inline constexpr std::size_t kMaxUnits = 9;        ///< kinds of units; the booking table has one byte for each
inline constexpr std::size_t kMaxQueues = 8;
/// The index that stands for memory, the level below the last cache.
inline constexpr std::size_t kMemory = static_cast<std::size_t>(-1);

/// The names of the kinds of instructions in descriptions and results, by kind.
inline constexpr std::array<std::string_view, kKinds> kKindNames = {
    "integer", "multiply",      "divide", "load", "store",        "atomic", "branch", "float", "float_divide",
    "simd",    "simd_multiply", "aes",    "sha",  "sha_schedule", "crc",    "system", "nop",   "unknown"};

enum class Policy : std::uint8_t {
  kSingle,         ///< one context
  kStrict,         ///< FGMT: cycle c belongs to context c mod N
  kSkipNotReady,   ///< FGMT: a cycle belongs to the next context that can use it
  kSwitchOnStall,  ///< FGMT: one context runs until it misses
  kIcount,         ///< SMT: fewest instructions in front end and queues first (Tullsen et al., ISCA 1996)
  kRoundRobin,     ///< SMT: the contexts take turns
};

struct Organisation {
  std::uint32_t cores = 1;
  std::uint32_t contexts = 1;  ///< contexts per core
  bool in_order = false;
  Policy policy = Policy::kSingle;
  std::uint32_t fetch_contexts = 1;  ///< contexts that fetch in one cycle: the 2 of icount.2.8
  std::uint32_t switch_cycles = 0;   ///< switch_on_stall: cycles from the miss until the next context enters instructions
  bool divided = false;              ///< each context has its share of window and queues; else any may take all of them
};

/// The widths in instructions per cycle, and the length of the front end.
struct Widths {
  std::uint32_t fetch = 1;
  std::uint32_t enter = 1;  ///< decode, rename, and entry into the window
  std::uint32_t issue = 1;
  std::uint32_t commit = 1;
  std::uint32_t depth_cycles = 1;  ///< from fetch until an instruction enters the window; the least cost of a misprediction
  std::uint32_t buffer = 1;        ///< instructions per context that are through the front end and wait for the window
  std::uint32_t fetch_lines = 1;   ///< cache lines that the fetch of a cycle reads
  bool fuses_aes = false;          ///< AESE and AESMC, or AESD and AESIMC, on one register become one instruction behind fetch

  /// Return the most instructions of a context that were fetched and have not entered: those in the front end and those in the
  /// buffer behind it.
  [[nodiscard]] std::uint32_t most_fetched() const { return depth_cycles * std::min(fetch, enter) + buffer; }
};

struct Window {
  std::uint32_t instructions = 1;  ///< reorder buffer
  std::uint32_t loads = 1;
  std::uint32_t stores = 1;
};

struct Queue {
  std::string name;
  std::uint32_t entries = 1;
};

struct Execution {
  std::uint32_t latency_cycles = 1;  ///< until a dependent instruction can issue; for loads and stores, of the address only
  std::uint32_t every_cycles = 1;    ///< until the unit takes the next instruction; 1 if it is pipelined
};

/// A group of equal units.
struct Unit {
  std::string name;
  std::uint32_t count = 1;
  std::size_t queue = 0;
  std::uint32_t access_bytes = 16;  ///< most bytes per access of loads and stores
  std::array<std::optional<Execution>, kKinds> executes{};
};

enum class Predictor : std::uint8_t { kPerfect, kBimodal, kGshare, kTournament, kTage };

struct Branches {
  Predictor predictor = Predictor::kPerfect;
  std::uint32_t entries = 4096;         ///< entries of the table of two-bit counters; for TAGE of the base table
  std::uint32_t history = 12;           ///< branches that gshare and tournament use; for TAGE the longest history
  std::uint32_t local_entries = 1024;   ///< tournament: local histories
  std::uint32_t local_history = 10;     ///< tournament: branches in a local history
  std::uint32_t tagged_entries = 1024;  ///< TAGE: entries of each tagged table
  std::uint32_t tagged_tables = 4;
  std::uint32_t target_entries = 2048;  ///< BTB
  std::uint32_t target_ways = 4;
  std::uint32_t returns = 16;            ///< entries of the return stack
  std::uint32_t taken_cycles = 0;        ///< cycles without fetch behind a taken branch
  std::uint32_t target_miss_cycles = 0;  ///< cycles without fetch behind a direct branch that the BTB does not know
};

enum class Replacement : std::uint8_t { kLru, kPlru, kRandom };
enum class Prefetch : std::uint8_t { kNone, kNextLine, kStride };

struct CacheLevel {
  std::string name;
  bool ideal = false;  ///< it never misses, and has no other property than `latency_cycles`
  std::uint64_t size_bytes = 0;
  std::uint32_t ways = 1;
  std::uint32_t line_bytes = 64;
  std::uint32_t latency_cycles = 1;  ///< from the load's address until its data on a hit in this level
  Replacement replacement = Replacement::kLru;
  std::uint32_t miss_registers = 8;  ///< lines on their way at once
  std::uint32_t shared_by = 1;       ///< cores that share one cache
  double bytes_per_cycle = 0;        ///< to the levels above; 0: no limit
  Prefetch prefetch = Prefetch::kNone;
  std::uint32_t prefetch_lines = 1;
  std::size_t next = kMemory;  ///< index of the cache that gets the misses
  [[nodiscard]] std::uint64_t sets() const { return size_bytes / line_bytes / ways; }
};

struct TlbLevel {
  std::uint32_t entries = 64;
  std::uint32_t ways = 64;
  std::uint32_t latency_cycles = 0;  ///< second level: additional cycles
};

struct Tlbs {
  std::uint32_t page_bytes = 4096;
  TlbLevel instruction;
  TlbLevel data;
  std::optional<TlbLevel> second;  ///< shared by instructions and data
  std::uint32_t walk_cycles = 20;
};

struct Memory {
  std::uint64_t latency_cycles = 100;  ///< from the load until its data, through all caches
  std::uint32_t banks = 1;
  std::uint64_t bank_busy_cycles = 0;  ///< time between two lines of one bank
  double bytes_per_cycle = 1;          ///< both directions together
};

struct Dma {
  double line_rate_gbps = 0;
  std::uint32_t frame_bytes = 64;
  std::uint32_t gap_bytes = 20;     ///< preamble and gap of Ethernet
  std::uint32_t ring_frames = 256;  ///< buffers, used in turn
  std::size_t level = kMemory;      ///< `deliver`: memory, or the cache that receives frames (the first core's)
};

struct Description {
  std::string name;
  double clock_mhz = 1000;
  Organisation organisation;
  Widths widths;
  Window window;
  std::vector<Queue> queues;
  std::vector<Unit> units;
  std::uint32_t store_forwarding_cycles = 1;  ///< from the store's data or the load's issue until the load's data
  bool waits_for_stores = false;              ///< a load waits for the addresses of all older stores
  Branches branches;
  std::vector<CacheLevel> caches;
  std::size_t instruction_cache = 0;
  std::size_t data_cache = 0;
  std::optional<Tlbs> tlbs;  ///< none: addresses need no translation
  Memory memory;
  std::optional<Dma> dma;
};

/// Read a description. Every key must exist, except those that docs/cores.md calls optional.
/// @throws Error with all faults and their places: unknown keys, impossible values, caches that form a circle
Description parse_description(const nlohmann::json& description, const std::string& where);

}  // namespace dpubench::cores
