// The session of engines whose tables the server's loop works on: one table for each core, nothing shared.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "datapath/workloads/flow-table/engine.hpp"

namespace dpubench::datapath::flow_table {

using MakeTable = std::function<std::unique_ptr<FlowTable>(const Limits&)>;

class OwnTables final : public TableSession {
 public:
  /// Make the tables of all cores. @throws Error when there is no memory
  OwnTables(const TableSetting& setting, PathInfo path, const MakeTable& make) : path_(std::move(path)) {
    for (std::uint32_t core = 0; core < setting.cores; ++core) {
      tables_.push_back(make(setting.limits));
      memory_bytes_ += tables_.back()->memory_bytes();
    }
  }
  [[nodiscard]] std::unique_ptr<FlowTable> open(std::uint32_t core) override { return std::move(tables_.at(core)); }
  [[nodiscard]] PathInfo path() const override { return path_; }
  [[nodiscard]] std::size_t memory_bytes() const override { return memory_bytes_; }

 private:
  PathInfo path_;
  std::vector<std::unique_ptr<FlowTable>> tables_;
  std::size_t memory_bytes_ = 0;
};

}  // namespace dpubench::datapath::flow_table
