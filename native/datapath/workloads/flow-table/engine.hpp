// The interface of the engines of the stage `table`. An engine is one file of this folder. It registers with
// DPUBENCH_TABLE_ENGINE. If it needs a library that may be missing, it is a module that uses DPUBENCH_STAGE_ENGINE (found in
// the folder `stages` beside the program).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/ports/port.hpp"
#include "datapath/stages/modules.hpp"
#include "datapath/workloads/flow-table/flow_table.hpp"
#include "operators/engine.hpp"

namespace dpubench::datapath::flow_table {

/// Version of the interface. Raise it when anything that a module sees changes.
inline constexpr std::uint32_t kTableEngineAbi = 3;

struct TableSetting {
  Limits limits{};  ///< limits of each core's table
  KeyKind key = KeyKind::kPaper;
  bool is_prefilled = false;  ///< a trial may begin with the flows that the table knows
  std::uint32_t cores = 1;
  std::uint64_t seed = 1;
  std::uint32_t max_frame = 1518;                  ///< with FCS
  std::string_view port_kind{};                    ///< kind of the port that faces the client
  std::span<const std::unique_ptr<Port>> ports{};  ///< [0] faces the client; empty if the question is only what is possible
};

/// Frames (without FCS) on which an engine is verified, in the order of their arrival.
using Frames = std::vector<std::vector<std::byte>>;

/// An engine's state, shared by all cores.
class TableSession {
 public:
  TableSession() = default;
  TableSession(const TableSession&) = delete;
  TableSession& operator=(const TableSession&) = delete;
  virtual ~TableSession() = default;
  /// Return a core's table, empty. Called once for each core.
  [[nodiscard]] virtual std::unique_ptr<FlowTable> open(std::uint32_t core) = 0;
  [[nodiscard]] virtual PathInfo path() const = 0;
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
  /// The counts of packets that never came to the server's loop.
  struct Elsewhere {
    std::uint64_t received = 0;
    std::uint64_t transmitted = 0;  ///< given back to the driver
    std::uint64_t dropped = 0;      ///< because the table was full
    std::uint64_t unkeyed = 0;
  };
  /// Return whether packets are counted and answered before the server's loop could receive them.
  [[nodiscard]] virtual bool is_elsewhere() const { return false; }
  /// Return whether the device counts the packets that it marks.
  [[nodiscard]] virtual bool counts_marked() const { return false; }
  [[nodiscard]] virtual Elsewhere elsewhere() const { return {}; }
};

class TableEngine {
 public:
  virtual ~TableEngine() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual const char* summary() const = 0;
  /// Return the kind of port whose packets it answers before a loop sees them; empty: it counts packets that loops see.
  [[nodiscard]] virtual const char* port() const { return ""; }
  /// Return why it cannot run on this machine, or an empty string if it can. Cheap.
  [[nodiscard]] virtual std::string unavailable() const { return {}; }
  /// Return why it does not do this, and what to do, or an empty string if it does.
  [[nodiscard]] virtual std::string unsupported(const TableSetting&) const { return {}; }
  /// Count `frames` and compare with the model (oracle.hpp), with each policy and key that the engine supports. @returns in
  /// words what was compared @throws Error that names the first difference
  [[nodiscard]] virtual std::string verify(const TableSetting& setting, const Frames& frames) const = 0;
  /// Open the engine. @throws Error
  [[nodiscard]] virtual std::unique_ptr<TableSession> open(const TableSetting& setting) const = 0;
};

/// An engine, or the reason why there is none of that name here.
struct EngineEntry {
  std::string name;
  std::string summary;
  std::string reason;                   ///< why it cannot run here; empty if it can
  std::string port;                     ///< TableEngine::port()
  const TableEngine* engine = nullptr;  ///< null where its module could not be loaded
};

/// Return all engines: portable first, then by name. The first call loads the modules.
std::span<const EngineEntry> engines();

namespace detail {
struct EngineRegistrar {
  explicit EngineRegistrar(const TableEngine& engine);
};
}  // namespace detail

}  // namespace dpubench::datapath::flow_table

/// Register `Type` (a TableEngine, default-constructible). Use this once, at namespace scope of the engine's file.
#define DPUBENCH_TABLE_ENGINE(Type)          \
  static const Type dpubench_table_engine{}; \
  static const ::dpubench::datapath::flow_table::detail::EngineRegistrar dpubench_table_engine_registrar(dpubench_table_engine)

#define DPUBENCH_STAGE_ENGINE(Type) \
  DPUBENCH_STAGE_MODULE(::dpubench::datapath::flow_table::kTableEngineAbi, ::dpubench::datapath::flow_table::TableEngine, Type)
