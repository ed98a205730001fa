// A plain model of native/datapath/workloads/application-recognition/reassembly.hpp: a map from byte to content. The fuzzer and
// the test of the reassembly share it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "packet/reassembly.hpp"

namespace dpubench::test {

/// One step: a segment, and whether its window was a hit.
struct ReassemblyStep {
  std::uint8_t key = 0;
  std::uint32_t sequence = 0;
  std::uint32_t bytes = 0;
  bool syn = false;
  bool rst = false;
  bool hit = false;
};

class ReassemblyModel {
 public:
  using Reassembly = packet::Reassembly;
  using Window = packet::Window;

  explicit ReassemblyModel(const Reassembly::Limits& limits) : limits_(limits), reassembly_(limits) {}

  /// Apply the step to both. @returns the difference between them, or an empty text
  std::string apply(const ReassemblyStep& step) {
    std::vector<std::byte> payload(step.bytes);
    for (std::byte& b : payload) b = static_cast<std::byte>(++counter_ * 0x9e3779b1U >> 24);
    packet::FlowKey key;
    key.bytes[3] = std::byte{step.key};
    const std::uint32_t flow = reassembly_.find(key);
    const Window got = reassembly_.add(flow, {step.sequence, step.syn, step.rst, payload});
    Flow& mine = find(step.key);
    const std::optional<Range> want = add(mine, step, payload);
    if (std::string wrong = compare(mine, want, got, flow); !wrong.empty()) return wrong;
    if (!want || !step.hit) return {};
    reassembly_.spend(got);
    for (auto at = mine.bytes.lower_bound(want->begin); at != mine.bytes.end() && at->first < want->end; ++at)
      at->second.spent = true;
    forget_lowest(mine);
    return compare_state(mine, flow);
  }
  /// Forget everything. After that, the first segment of a flow must be new, whatever came before.
  std::string start_anew() {
    reassembly_.clear();
    flows_.clear();
    return apply({.bytes = limits_.overlap_bytes});
  }
  [[nodiscard]] const Reassembly& reassembly() const { return reassembly_; }

 private:
  struct Seen {
    std::byte content;
    bool spent;
  };
  /// A flow. Its positions do not wrap: their low 32 bits are the sequence number.
  struct Flow {
    std::uint8_t key = 0;
    bool begun = false;
    std::optional<std::uint32_t> initial;
    std::uint64_t floor = 0;
    std::map<std::uint64_t, Seen> bytes;
  };
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };

  Flow& find(std::uint8_t key) {
    const auto it = std::find_if(flows_.begin(), flows_.end(), [key](const Flow& f) { return f.key == key; });
    if (it != flows_.end()) {
      flows_.splice(flows_.end(), flows_, it);
    } else {
      if (flows_.size() == limits_.flows) flows_.pop_front();
      flows_.push_back({});
      flows_.back().key = key;
    }
    return flows_.back();
  }

  static void begin(Flow& flow, std::uint32_t sequence) {
    flow.begun = true;
    flow.floor = (std::uint64_t{1} << 40) + sequence;
    flow.bytes.clear();
  }
  static void raise_floor(Flow& flow, std::uint64_t floor) {
    flow.floor = floor;
    flow.bytes.erase(flow.bytes.begin(), flow.bytes.lower_bound(floor));
  }

  /// Return the runs of contiguous bytes that are all spent or all unspent.
  static std::vector<Range> runs(const Flow& flow) {
    std::vector<Range> found;
    bool spent = false;
    for (const auto& [at, seen] : flow.bytes) {
      if (found.empty() || found.back().end != at || seen.spent != spent) found.push_back({at, at});
      found.back().end = at + 1;
      spent = seen.spent;
    }
    return found;
  }
  static void forget_lowest(Flow& flow) {
    const std::vector<Range> all = runs(flow);
    if (all.size() > Reassembly::kMostPieces) raise_floor(flow, all[all.size() - Reassembly::kMostPieces - 1].end);
  }

  std::optional<Range> add(Flow& flow, const ReassemblyStep& step, const std::vector<std::byte>& payload) const {
    std::uint32_t sequence = step.sequence;
    if (step.rst) {
      flow.begun = false;
      flow.initial.reset();
      return std::nullopt;
    }
    if (step.syn) {
      ++sequence;
      if (flow.initial != step.sequence) begin(flow, sequence);
      flow.initial = step.sequence;
    }
    if (payload.empty() || payload.size() + limits_.overlap_bytes > limits_.stretch_bytes) return std::nullopt;
    if (!flow.begun) begin(flow, sequence - limits_.stretch_bytes / 2);
    const std::uint64_t first = flow.floor + static_cast<std::uint64_t>(static_cast<std::int64_t>(
                                                 static_cast<std::int32_t>(sequence - static_cast<std::uint32_t>(flow.floor))));
    const std::uint64_t last = first + payload.size();
    if (last <= flow.floor) return std::nullopt;
    if (last > flow.floor + limits_.stretch_bytes) {
      raise_floor(flow, std::min(last - limits_.stretch_bytes / 2, first - limits_.overlap_bytes));
    }
    std::vector<std::uint64_t> fresh;
    for (std::uint64_t at = std::max(first, flow.floor); at < last; ++at) {
      if (flow.bytes.try_emplace(at, Seen{payload[at - first], false}).second) fresh.push_back(at);
    }
    if (fresh.empty()) return std::nullopt;
    for (std::uint64_t at = fresh.front(); at <= fresh.back(); ++at) flow.bytes.at(at).spent = false;
    Range window{fresh.front(), fresh.back() + 1};
    const auto open = [&flow](std::uint64_t at) {
      const auto it = flow.bytes.find(at);
      return it != flow.bytes.end() && !it->second.spent;
    };
    for (std::uint32_t i = 0; i < limits_.overlap_bytes && open(window.begin - 1); ++i) --window.begin;
    for (std::uint32_t i = 0; i < limits_.overlap_bytes && open(window.end); ++i) ++window.end;
    forget_lowest(flow);
    return fresh.front() < flow.floor ? std::nullopt : std::optional(window);
  }

  std::string compare_state(const Flow& mine, std::uint32_t flow) const {
    if (!mine.begun) return {};
    if (reassembly_.floor(flow) != static_cast<std::uint32_t>(mine.floor)) {
      return "the stretch begins at " + std::to_string(reassembly_.floor(flow)) + " instead of " +
             std::to_string(static_cast<std::uint32_t>(mine.floor));
    }
    if (reassembly_.pieces(flow) != runs(mine).size()) {
      return std::to_string(reassembly_.pieces(flow)) + " pieces instead of " + std::to_string(runs(mine).size());
    }
    if (!mine.bytes.empty() && mine.bytes.rbegin()->first >= mine.floor + limits_.stretch_bytes)
      return "a byte behind the stretch";
    return {};
  }

  std::string compare(const Flow& mine, const std::optional<Range>& want, const Window& got, std::uint32_t flow) const {
    if (got.flow != flow) return "a window of another flow";
    if (!want) return got.bytes == 0 ? compare_state(mine, flow) : std::to_string(got.bytes) + " bytes where nothing was new";
    if (got.bytes != want->end - want->begin) {
      return std::to_string(got.bytes) + " bytes instead of " + std::to_string(want->end - want->begin);
    }
    if (got.sequence != static_cast<std::uint32_t>(want->begin)) return "another beginning";
    for (std::uint32_t i = 0; i < got.bytes; ++i) {
      if (got.data[i] != mine.bytes.at(want->begin + i).content) return "byte " + std::to_string(i) + " is not the first copy";
    }
    return compare_state(mine, flow);
  }

  Reassembly::Limits limits_;
  Reassembly reassembly_;
  std::list<Flow> flows_;  ///< the flow that was idle longest comes first
  std::uint32_t counter_ = 0;
};

}  // namespace dpubench::test
