#include "datapath/workloads/flow-table/oracle.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "datapath/frame/size.hpp"
#include "inputs/random.hpp"

namespace dpubench::datapath::flow_table {
namespace {

/// Smaller than the number of flows that come, so that the table fills.
constexpr std::uint32_t kVerifiedFlows = 300;
constexpr std::uint32_t kVerifiedBatches = 600;
constexpr std::uint32_t kVerifiedIdleMs = 20;

const char* name_of(Full full) {
  switch (full) {
    case Full::kDrop:
      return "drop";
    case Full::kEvictOldest:
      return "evict_oldest";
    case Full::kForwardUncounted:
      break;
  }
  return "forward_uncounted";
}

struct Keys {
  std::vector<Key> keys;
  std::vector<std::uint32_t> bytes;  ///< bytes of the frames
};

Keys keys_of(const Frames& frames, KeyKind kind) {
  Keys found;
  for (const auto& frame : frames) {
    Key key;
    if (!make_key(frame, packet::parse(frame), kind, key)) continue;
    found.keys.push_back(key);
    found.bytes.push_back(static_cast<std::uint32_t>(frame.size()) + kFcsBytes);
  }
  return found;
}

/// Run the same operations on a table and on the model. A batch has 1 to 32 keys, some drawn from few flows (which live on) and
/// some from all (which fill the table); then time passes. Ageing always covers the whole table, so that it retires the same
/// flows in both.
void run_alike(FlowTable& table, FlowTable& model, const Keys& keys, inputs::Random random, const std::string& what) {
  std::uint32_t now_ms = 0xffff'ff00U;  // the clock wraps on the way
  std::size_t at = 0;
  for (std::uint32_t batch = 0; batch < kVerifiedBatches; ++batch) {
    std::vector<Key> burst;
    std::vector<std::uint32_t> bytes;
    for (std::uint64_t n = 1 + random.below(32); n > 0; --n) {
      const std::size_t i =
          random.below(2) == 0 ? at++ % keys.keys.size() : random.below(std::min<std::size_t>(keys.keys.size(), 100));
      burst.push_back(keys.keys[i]);
      bytes.push_back(keys.bytes[i]);
    }
    std::array<bool, 32> refused{};
    std::array<bool, 32> expected{};
    table.count(burst, bytes.data(), refused.data(), now_ms);
    model.count(burst, bytes.data(), expected.data(), now_ms);
    if (refused != expected) throw Error(what + ": refuses other packets than the model does, in batch " + std::to_string(batch));
    now_ms += static_cast<std::uint32_t>(random.below(4));
    if (random.below(4) == 0) {
      table.age(now_ms, 0xffff'ffffU);
      model.age(now_ms, 0);
    }
    if (table.totals() != model.totals()) require_equal(table, model, what + ", batch " + std::to_string(batch));
  }
  require_equal(table, model, what);
}

}  // namespace

std::uint32_t ModelTable::count(std::span<const Key> keys, const std::uint32_t* bytes, bool* refused,
                                std::uint32_t now_ms) noexcept {
  std::uint32_t n_refused = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto found = flows_.find(keys[i]);
    if (found != flows_.end() && is_idle(found->second, now_ms)) {
      retire(keys[i]);
      ++totals_.aged;
      found = flows_.end();
    }
    if (found == flows_.end()) {
      if (flows_.size() >= limits_.flows && limits_.full == Full::kEvictOldest) {
        retire(order_.front());
        ++totals_.evicted;
      }
      refused[i] = flows_.size() >= limits_.flows;
      if (refused[i]) {
        ++n_refused;
        continue;
      }
      order_.push_back(keys[i]);
      found = flows_.emplace(keys[i], Flow{{keys[i], 0, 0}, now_ms, std::prev(order_.end())}).first;
      ++totals_.inserted;
    }
    refused[i] = false;
    found->second.last_ms = now_ms;
    ++found->second.record.packets;
    found->second.record.bytes += bytes[i];
  }
  totals_.flows = flows_.size();
  totals_.refused += n_refused;
  return n_refused;
}

void ModelTable::age(std::uint32_t now_ms, std::uint32_t /*places*/) noexcept {
  std::vector<Key> idle;
  for (const auto& [key, flow] : flows_) {
    if (is_idle(flow, now_ms)) idle.push_back(key);
  }
  for (const Key& key : idle) retire(key);
  totals_.aged += idle.size();
  totals_.flows = flows_.size();
}

void ModelTable::clear() {
  flows_.clear();
  order_.clear();
  retired_.clear();
  totals_ = {};
}

void ModelTable::zero() {
  for (auto& [key, flow] : flows_) flow.record.packets = flow.record.bytes = 0;
  retired_.clear();
  totals_ = {.flows = flows_.size()};
}

void ModelTable::for_each(const std::function<void(const FlowRecord&)>& visit) const {
  for (const auto& [key, flow] : flows_) {
    if (flow.record.packets != 0) visit(flow.record);
  }
  for (const FlowRecord& record : retired_) visit(record);
}

void ModelTable::retire(const Key& key) {
  const Key copy = key;  // `key` may refer to the list's own key
  const auto found = flows_.find(copy);
  if (found->second.record.packets != 0) retired_.push_back(found->second.record);
  order_.erase(found->second.entered);
  flows_.erase(found);
}

std::vector<FlowRecord> sorted_records(const FlowTable& table) {
  std::vector<FlowRecord> records;
  table.for_each([&](const FlowRecord& record) { records.push_back(record); });
  std::sort(records.begin(), records.end(), [](const FlowRecord& a, const FlowRecord& b) {
    return std::tie(a.key, a.packets, a.bytes) < std::tie(b.key, b.packets, b.bytes);
  });
  return records;
}

void require_equal(const FlowTable& table, const FlowTable& model, const std::string& what) {
  const Totals is = table.totals();
  const Totals should = model.totals();
  const std::array<std::tuple<const char*, std::uint64_t, std::uint64_t>, 6> counts = {{
      {"flows", is.flows, should.flows},
      {"inserted", is.inserted, should.inserted},
      {"aged", is.aged, should.aged},
      {"evicted", is.evicted, should.evicted},
      {"refused", is.refused, should.refused},
      {"retired_lost", is.retired_lost, should.retired_lost},
  }};
  for (const auto& [name, have, want] : counts) {
    if (have != want)
      throw Error(what + ": `" + name + "` is " + std::to_string(have) + ", the model says " + std::to_string(want));
  }
  const std::vector<FlowRecord> have = sorted_records(table);
  const std::vector<FlowRecord> want = sorted_records(model);
  if (have.size() != want.size()) {
    throw Error(what + ": has " + std::to_string(have.size()) + " records, the model has " + std::to_string(want.size()));
  }
  for (std::size_t i = 0; i < have.size(); ++i) {
    if (have[i].key == want[i].key && have[i].packets == want[i].packets && have[i].bytes == want[i].bytes) continue;
    throw Error(what + ": record " + std::to_string(i) + " has " + std::to_string(have[i].packets) + " packets and " +
                std::to_string(have[i].bytes) + " bytes, the model has " + std::to_string(want[i].packets) + " and " +
                std::to_string(want[i].bytes) + (have[i].key == want[i].key ? "" : ", of another key"));
  }
}

std::string verify_tables(const MakeTable& make, const Frames& frames, std::uint64_t seed) {
  std::uint32_t runs = 0;
  std::size_t keys_compared = 0;
  for (const KeyKind kind : {KeyKind::kPaper, KeyKind::kFiveTuple}) {
    const Keys keys = keys_of(frames, kind);
    keys_compared = std::max(keys_compared, keys.keys.size());
    for (const Full full : {Full::kDrop, Full::kEvictOldest, Full::kForwardUncounted}) {
      for (const std::uint32_t idle_ms : {0U, kVerifiedIdleMs}) {
        const Limits limits{kVerifiedFlows, idle_ms, full};
        const std::string what = std::string("full=") + name_of(full) + " idle_ms=" + std::to_string(idle_ms);
        const std::unique_ptr<FlowTable> table = make(limits);
        ModelTable model(limits);
        run_alike(*table, model, keys, inputs::Random(seed + runs), what);
        table->zero();
        model.zero();
        require_equal(*table, model, what + ", counts zeroed");
        run_alike(*table, model, keys, inputs::Random(seed + runs + 2), what + ", with the flows of before");
        table->clear();
        model.clear();
        run_alike(*table, model, keys, inputs::Random(seed + runs + 1), what + ", after clearing");
        ++runs;
      }
    }
  }
  return "packets, bytes and records equal those of a std::map over " + std::to_string(keys_compared) +
         " keys: each policy and key, with ageing and without, table full, empty and filled";
}

}  // namespace dpubench::datapath::flow_table
