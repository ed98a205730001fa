// What the engines of the stage `table` share: the setting of a table, and how a table becomes a pipeline. An engine is one file
// of this folder (stages/engine.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/ports/port.hpp"
#include "datapath/stages/engine.hpp"
#include "datapath/workloads/flow-table/flow_table.hpp"
#include "operators/engine.hpp"

namespace dpubench::datapath::flow_table {

inline constexpr const char* kWorkload = "flow-table";
inline constexpr const char* kStage = "table";

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

/// An engine of the stage `table`.
class TableEngine : public StageEngine {
 public:
  /// Return why it does not do this, and what to do, or an empty string if it does.
  [[nodiscard]] virtual std::string unsupported_table(const TableSetting&) const { return {}; }
  /// Count `frames` and compare with the model (oracle.hpp), with each policy and key that the engine supports. @returns in
  /// words what was compared @throws Error that names the first difference
  [[nodiscard]] virtual std::string verify(const TableSetting& setting, const Frames& frames) const = 0;
  /// Open the tables of all cores. @throws Error
  [[nodiscard]] virtual std::unique_ptr<TableSession> open_tables(const TableSetting& setting) const = 0;

  [[nodiscard]] std::string unsupported(const Setting& setting) const final;
  [[nodiscard]] std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& store) const final;
};

}  // namespace dpubench::datapath::flow_table
