// What an engine of the stage `table` is: one file of this folder, which registers with DPUBENCH_TABLE_ENGINE or, when it needs a
// library that may be missing, is a module of its own with DPUBENCH_STAGE_ENGINE (found in the folder `stages` beside the
// program).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/ports/port.hpp"
#include "datapath/workloads/flow-table/flow_table.hpp"
#include "datapath/workloads/stage_modules.hpp"
#include "operators/engine.hpp"

namespace dpubench::datapath::flow_table {

/// Raised when anything that a module sees changes.
inline constexpr std::uint32_t kTableEngineAbi = 3;

struct TableSetting {
  Limits limits{};  ///< of each core's table
  KeyKind key = KeyKind::kPaper;
  bool is_prefilled = false;  ///< a trial may begin with the flows that are known
  std::uint32_t cores = 1;
  std::uint64_t seed = 1;
  std::uint32_t max_frame = 1518;                  ///< with FCS
  std::string_view port_kind{};                    ///< of the port that faces the client
  std::span<const std::unique_ptr<Port>> ports{};  ///< [0] faces the client; empty while it is only asked what is possible
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
  /// A core's table, empty; called once for each core.
  [[nodiscard]] virtual std::unique_ptr<FlowTable> open(std::uint32_t core) = 0;
  [[nodiscard]] virtual PathInfo path() const = 0;
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
  /// What happened to packets that never came to the server's loop.
  struct Elsewhere {
    std::uint64_t received = 0;
    std::uint64_t transmitted = 0;  ///< given back to the driver
    std::uint64_t dropped = 0;      ///< the table was full
    std::uint64_t unkeyed = 0;
  };
  /// Whether packets are counted and answered before the server's loop could receive them.
  [[nodiscard]] virtual bool is_elsewhere() const { return false; }
  /// Whether packets that the device has marked are counted by the device.
  [[nodiscard]] virtual bool counts_marked() const { return false; }
  [[nodiscard]] virtual Elsewhere elsewhere() const { return {}; }
};

class TableEngine {
 public:
  virtual ~TableEngine() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual const char* summary() const = 0;
  /// The kind of port whose packets it answers before a loop sees them; empty: it counts those that loops see.
  [[nodiscard]] virtual const char* port() const { return ""; }
  /// Why it cannot run on this machine; empty if it can. Cheap.
  [[nodiscard]] virtual std::string unavailable() const { return {}; }
  /// Why it does not do this, and what to do; empty if it does.
  [[nodiscard]] virtual std::string unsupported(const TableSetting&) const { return {}; }
  /// Counts `frames` and compares with the model (oracle.hpp), with each policy and key that it supports. @returns in words what
  /// was compared @throws Error naming the first difference
  [[nodiscard]] virtual std::string verify(const TableSetting& setting, const Frames& frames) const = 0;
  /// @throws Error
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

/// All of them: portable first, then by name. Loads the modules on the first call.
std::span<const EngineEntry> engines();

namespace detail {
struct EngineRegistrar {
  explicit EngineRegistrar(const TableEngine& engine);
};
}  // namespace detail

}  // namespace dpubench::datapath::flow_table

/// Registers `Type` (a TableEngine, default-constructible). Once, at namespace scope of the engine's file.
#define DPUBENCH_TABLE_ENGINE(Type)          \
  static const Type dpubench_table_engine{}; \
  static const ::dpubench::datapath::flow_table::detail::EngineRegistrar dpubench_table_engine_registrar(dpubench_table_engine)

#define DPUBENCH_STAGE_ENGINE(Type) \
  DPUBENCH_STAGE_MODULE(::dpubench::datapath::flow_table::kTableEngineAbi, ::dpubench::datapath::flow_table::TableEngine, Type)
