// The model that every engine is compared with before it is timed: the same rules over a std::map, as slow and plain as can be.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "datapath/workloads/flow-table/engine.hpp"
#include "datapath/workloads/flow-table/own_tables.hpp"
#include "inputs/store.hpp"

namespace dpubench::datapath::flow_table {

class ModelTable final : public FlowTable {
 public:
  explicit ModelTable(const Limits& limits) : limits_(limits) {}
  std::uint32_t count(std::span<const Key> keys, const std::uint32_t* bytes, bool* refused,
                      std::uint32_t now_ms) noexcept override;
  /// Retire every idle flow, whatever `places` says.
  void age(std::uint32_t now_ms, std::uint32_t places) noexcept override;
  void clear() override;
  void zero() override;
  [[nodiscard]] Totals totals() const override { return totals_; }
  void for_each(const std::function<void(const FlowRecord&)>& visit) const override;
  [[nodiscard]] std::size_t memory_bytes() const override { return 0; }

 private:
  struct Flow {
    FlowRecord record;
    std::uint32_t last_ms;
    std::list<Key>::iterator entered;  ///< its place in order_
  };
  [[nodiscard]] bool is_idle(const Flow& flow, std::uint32_t now_ms) const {
    return limits_.idle_ms != 0 && now_ms - flow.last_ms > limits_.idle_ms;
  }
  void retire(const Key& key);

  Limits limits_;
  std::map<Key, Flow> flows_;
  std::list<Key> order_;  ///< the flow that entered first comes first
  std::vector<FlowRecord> retired_;
  Totals totals_;
};

/// Return all records, sorted, for comparing two tables.
std::vector<FlowRecord> sorted_records(const FlowTable& table);

/// Compare totals and records. @throws Error that names `what` and the first difference
void require_equal(const FlowTable& table, const FlowTable& model, const std::string& what);

/// Run batches of the frames' keys through a table and the model: every policy, both keys, with and without ageing, and more
/// flows than there is room for. @returns in words what was compared @throws Error that names the first difference
std::string verify_tables(const MakeTable& make, const Frames& frames, std::uint64_t seed);

/// Return frames of every kind that the parser tells apart, whole and cut off, generated from the seed. If the job has a
/// capture, its packets follow, each in an Ethernet frame.
Frames verification_frames(inputs::Store& store, std::uint64_t seed);

}  // namespace dpubench::datapath::flow_table
