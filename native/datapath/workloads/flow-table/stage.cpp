#include "datapath/workloads/flow-table/stage.hpp"

#include <rte_ether.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "datapath/frame/size.hpp"
#include "datapath/workloads/swapped.hpp"

namespace dpubench::datapath::flow_table {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
/// Places that ageing looks at after a burst, and when nothing came. A place takes 16 bytes; they lie one after the other.
constexpr std::uint32_t kScannedPerBurst = 64;
constexpr std::uint32_t kScannedWhenIdle = 256;

}  // namespace

TableStage::TableStage(TableSession& session, std::unique_ptr<FlowTable> table, const TableSetting& setting,
                       std::function<bool()> starts_dump)
    : session_(session),
      table_(std::move(table)),
      limits_(setting.limits),
      kind_(setting.key),
      is_prefilled_(setting.is_prefilled),
      is_elsewhere_(session.is_elsewhere()),
      counted_by_device_(session.counts_marked() ? RTE_MBUF_F_RX_FDIR_ID : 0),
      starts_dump_(std::move(starts_dump)),
      clock_(measure::Clock::instance()) {}

std::uint32_t TableStage::run(Batch& batch) noexcept {
  std::uint32_t worked = 0;
  std::uint32_t n = 0;
  for (std::uint32_t i = 0; i < batch.n; ++i) {
    if (batch.fate[i] != Fate::kForward) continue;
    if (batch.packets[i]->data_len < RTE_ETHER_HDR_LEN) [[unlikely]] {
      batch.fate[i] = Fate::kDropShort;
      continue;
    }
    ++worked;
    if ((batch.packets[i]->ol_flags & counted_by_device_) != 0) {
      swap_addresses(batch.data(i));
      continue;
    }
    const bool is_keyed = make_key(batch.frame(i), batch.parsed[i], kind_, keys_[n]);
    swap_addresses(batch.data(i));
    if (!is_keyed) [[unlikely]] {
      ++unkeyed_;
      continue;
    }
    bytes_[n] = batch.packets[i]->data_len + kFcsBytes;
    packet_[n++] = static_cast<std::uint16_t>(i);
  }
  const auto now_ms = static_cast<std::uint32_t>(static_cast<std::uint64_t>(clock_.to_ns(batch.received_ticks)) / kNsPerMs);
  if (n != 0) {
    const std::uint32_t n_refused = table_->count({keys_.data(), n}, bytes_.data(), refused_.data(), now_ms);
    if (n_refused != 0 && limits_.full == Full::kDrop) [[unlikely]] {
      for (std::uint32_t k = 0; k < n; ++k) {
        if (refused_[k]) batch.fate[packet_[k]] = Fate::kDropFull;
      }
    }
  }
  table_->age(now_ms, kScannedPerBurst);
  packets_ += worked;
  return worked;
}

void TableStage::idle(std::uint64_t now_ns) noexcept {
  table_->age(static_cast<std::uint32_t>(now_ns / kNsPerMs), kScannedWhenIdle);
}

void TableStage::begin(bool keeps_flows) {
  if (keeps_flows && is_prefilled_) {
    table_->zero();
  } else {
    table_->clear();
  }
  unkeyed_ = packets_ = 0;
  before_.reset();
  measured_.reset();
}

void TableStage::measured(bool begins) noexcept {
  try {
    const Counted now = counted();
    if (begins) {
      before_ = now;
    } else if (before_) {
      measured_ = {
          .packets = now.packets - before_->packets, .inserted = now.inserted - before_->inserted, .flows = before_->flows};
    }
  } catch (const Error&) {
    before_.reset();  // the counts of the part are then not known
  }
}

TableStage::Counted TableStage::counted() const {
  const Totals totals = table_->totals();
  return {
      .packets = is_elsewhere_ ? session_.elsewhere().received : packets_, .inserted = totals.inserted, .flows = totals.flows};
}

std::optional<std::uint64_t> TableStage::elsewhere() const noexcept {
  if (!is_elsewhere_) return {};
  try {
    return session_.elsewhere().received;
  } catch (const Error&) {
    return 0;  // collect() reports the reason
  }
}

std::optional<Stage::Flows> TableStage::flows() const {
  return Flows{.known = table_->totals().flows, .room = limits_.flows};
}

void TableStage::collect(nlohmann::json& into, const std::string& dump_folder) {
  const Totals totals = table_->totals();
  nlohmann::json& sums = into["flow_table"];
  if (sums.is_null()) sums = nlohmann::json::object();
  const auto add = [&](const char* name, std::uint64_t value) { sums[name] = sums.value(name, std::uint64_t{0}) + value; };
  add("flows", totals.flows);
  add("inserted", totals.inserted);
  add("aged", totals.aged);
  add("evicted", totals.evicted);
  add("refused", totals.refused);
  add("retired_lost", totals.retired_lost);
  add("memory_bytes", table_->memory_bytes());
  if (is_elsewhere_) {
    const TableSession::Elsewhere elsewhere = session_.elsewhere();
    add("unkeyed", elsewhere.unkeyed);
    sums["elsewhere"] = {
        {"received", elsewhere.received}, {"transmitted", elsewhere.transmitted}, {"dropped", elsewhere.dropped}};
  } else {
    add("unkeyed", unkeyed_);
  }
  if (measured_) {
    nlohmann::json& part = sums["measured"];
    const auto add_measured = [&](const char* name, std::uint64_t value) {
      part[name] = part.value(name, std::uint64_t{0}) + value;
    };
    if (part.is_null()) part = nlohmann::json::object();
    add_measured("packets", measured_->packets);
    add_measured("inserted", measured_->inserted);
    add_measured("flows", measured_->flows);
  }
  if (!dump_folder.empty()) dump(*table_, kind_, dump_folder, !starts_dump_());
}

}  // namespace dpubench::datapath::flow_table
