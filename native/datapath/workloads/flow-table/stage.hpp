// The stage `table` on one core.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "datapath/stages/stage.hpp"
#include "datapath/workloads/flow-table/engine.hpp"
#include "measure/clock.hpp"

namespace dpubench::datapath::flow_table {

class TableStage final : public Stage {
 public:
  /// @param session  outlives the stage @param starts_dump  called once in each collection; returns whether to begin flows.bin
  /// anew
  TableStage(TableSession& session, std::unique_ptr<FlowTable> table, const TableSetting& setting,
             std::function<bool()> starts_dump);

  [[nodiscard]] bool reads_headers() const noexcept override { return !is_elsewhere_; }
  std::uint32_t run(Batch& batch) noexcept override;
  void idle(std::uint64_t now_ns) noexcept override;
  void begin(bool keeps_flows) override;
  void measured(bool begins) noexcept override;
  [[nodiscard]] std::optional<std::uint64_t> elsewhere() const noexcept override;
  [[nodiscard]] std::optional<Flows> flows() const override;
  void collect(nlohmann::json& into, const std::string& dump_folder) override;

 private:
  /// The counts up to a time, or of the measured part.
  struct Counted {
    std::uint64_t packets = 0;
    std::uint64_t inserted = 0;
    std::uint64_t flows = 0;  ///< flows known at its begin
  };
  /// Return the counts so far. @throws Error
  [[nodiscard]] Counted counted() const;

  TableSession& session_;
  std::unique_ptr<FlowTable> table_;
  Limits limits_;
  KeyKind kind_;
  bool is_prefilled_;
  bool is_elsewhere_;
  std::uint64_t counted_by_device_;  ///< flag of mbufs that the device counted; 0 if no device counts
  std::function<bool()> starts_dump_;
  const measure::Clock& clock_;
  std::uint64_t unkeyed_ = 0;
  std::uint64_t packets_ = 0;
  std::optional<Counted> before_;    ///< counts when the measured part began
  std::optional<Counted> measured_;  ///< counts of the part alone
  std::array<Key, kMaxPacketBurst> keys_;
  std::array<std::uint32_t, kMaxPacketBurst> bytes_;
  std::array<std::uint16_t, kMaxPacketBurst> packet_;  ///< packet of the batch that a key belongs to
  std::array<bool, kMaxPacketBurst> refused_{};
};

}  // namespace dpubench::datapath::flow_table
