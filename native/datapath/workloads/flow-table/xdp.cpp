// flow-table, engine xdp: an eBPF program with a hash map, attached to the interface in the driver's own mode. The kernel counts
// and answers; no packet reaches this process.
// requires: libbpf >= 0.7
#include <linux/bpf.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <thread>
#include <utility>

#include "datapath/stages/xdp_program.hpp"
#include "datapath/workloads/flow-table/engine.hpp"
#include "datapath/workloads/flow-table/oracle.hpp"
#include "datapath/workloads/flow-table/xdp_shared.h"

namespace dpubench::datapath::flow_table {
namespace {

static_assert(sizeof(xdp_key) == sizeof(Key) && offsetof(xdp_key, destination_port) == offsetof(Key, destination_port) &&
              offsetof(xdp_key, version) == offsetof(Key, version) && offsetof(xdp_key, protocol) == offsetof(Key, protocol) &&
              offsetof(xdp_key, rest) == offsetof(Key, rest));

alignas(8) constexpr unsigned char kProgram[] = {
#include DPUBENCH_BPF_OBJECT
};

constexpr std::uint32_t kVerifiedFlows = 300;
/// A trial begins once nothing came for this time. It begins after this many waits in any case; its check then finds the
/// difference.
constexpr std::chrono::milliseconds kQuiet(20);
constexpr unsigned kMostWaits = 100;

/// The program with its table in the kernel.
class Program {
 public:
  Program(const Limits& limits, KeyKind key) : code_("flow-table, engine xdp", kProgram) {
    code_.set_entries("flows", limits.flows);
    code_.load("flow_table", " with a map of " + std::to_string(limits.flows) + " flows");
    flows_ = code_.map("flows");
    state_ = code_.map("state");
    settings_.is_five_tuple = key == KeyKind::kFiveTuple ? 1 : 0;
    settings_.drops_when_full = limits.full == Full::kDrop ? 1 : 0;
    reset_state();
  }

  void attach(const std::string& interface) { code_.attach(interface); }
  [[nodiscard]] std::pair<std::uint32_t, std::vector<std::byte>> run(const std::vector<std::byte>& frame) const {
    return code_.run(frame);
  }

  void clear() {
    wait_until_quiet([this] { clear_flows(); });
    kept_ = 0;
    reset_state();
  }

  /// Keep the flows, with counts of zero.
  void zero() {
    wait_until_quiet([] {});
    kept_ = 0;
    const xdp_counters nothing{};
    for_each_key([&](const xdp_key& key) {
      if (bpf_map_update_elem(flows_, &key, &nothing, BPF_EXIST) != 0) code_.fail("a flow's counters cannot be reset", errno);
      ++kept_;
    });
    reset_state();
  }

  /// Return how many flows the map holds.
  [[nodiscard]] std::uint64_t known_flows() const { return kept_ + state().inserted; }

  [[nodiscard]] xdp_state state() const {
    xdp_state now{};
    const std::uint32_t zero = 0;
    if (bpf_map_lookup_elem(state_, &zero, &now) != 0) code_.fail("its counters cannot be read", errno);
    return now;
  }

  /// Visit every flow that has packets. @throws Error
  void for_each(const std::function<void(const FlowRecord&)>& visit) const {
    xdp_key key{};
    for (const xdp_key* from = nullptr; bpf_map_get_next_key(flows_, from, &key) == 0; from = &key) {
      xdp_counters counters{};
      if (bpf_map_lookup_elem(flows_, &key, &counters) != 0) code_.fail("a flow cannot be read", errno);
      if (counters.packets != 0) visit({std::bit_cast<Key>(key), counters.packets, counters.bytes});
    }
  }

  /// Return the map's memory as the kernel accounts it.
  [[nodiscard]] std::size_t memory_bytes() const {
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(flows_));
    for (std::string word; info >> word;) {
      std::size_t bytes = 0;
      if (word == "memlock:" && info >> bytes) return bytes;
    }
    return 0;
  }

 private:
  /// Repeat `work` until no packet comes. The program does not tell trials apart: packets of the trial before that the link
  /// still holds must be through first.
  template <class Work>
  void wait_until_quiet(const Work& work) const {
    for (unsigned i = 0; i < kMostWaits; ++i) {
      const std::uint64_t received = state().received;
      work();
      std::this_thread::sleep_for(kQuiet);
      if (state().received == received) break;
    }
  }

  void clear_flows() {
    for_each_key([this](const xdp_key& key) { bpf_map_delete_elem(flows_, &key); });
  }

  /// Call `work` for every key. It may change or delete the flow of its key.
  template <class Work>
  void for_each_key(const Work& work) {
    // Get the next key while the key before it is still in its place. After a deleted key the kernel begins anew, and passes
    // all empty buckets. An updated key lies at the head of its bucket, so that the keys after it would come again for ever.
    xdp_key key{};
    xdp_key next{};
    for (bool more = bpf_map_get_next_key(flows_, nullptr, &key) == 0; more; key = next) {
      more = bpf_map_get_next_key(flows_, &key, &next) == 0;
      work(key);
    }
  }

  void reset_state() {
    const std::uint32_t zero = 0;
    if (bpf_map_update_elem(state_, &zero, &settings_, BPF_ANY) != 0) code_.fail("its counters cannot be reset", errno);
  }

  xdp::Program code_;
  int flows_ = -1;
  int state_ = -1;
  xdp_state settings_{};
  std::uint64_t kept_ = 0;  ///< flows that zero() has kept
};

/// The kernel's map as a flow table. The kernel itself counts.
class KernelTable final : public FlowTable {
 public:
  explicit KernelTable(Program& program) : program_(program) {}
  std::uint32_t count(std::span<const Key>, const std::uint32_t*, bool*, std::uint32_t) noexcept override { return 0; }
  void age(std::uint32_t, std::uint32_t) noexcept override {}
  void clear() override { program_.clear(); }
  void zero() override { program_.zero(); }
  [[nodiscard]] Totals totals() const override {
    const xdp_state state = program_.state();
    return {.flows = program_.known_flows(), .inserted = state.inserted, .refused = state.refused};
  }
  void for_each(const std::function<void(const FlowRecord&)>& visit) const override { program_.for_each(visit); }
  [[nodiscard]] std::size_t memory_bytes() const override { return program_.memory_bytes(); }

 private:
  Program& program_;
};

class XdpSession final : public TableSession {
 public:
  explicit XdpSession(const TableSetting& setting)
      : program_(setting.limits, setting.key), drops_(setting.limits.full == Full::kDrop) {
    const PortInfo& info = xdp::port_of("flow-table, engine xdp", setting.ports);
    program_.attach(info.interface);
    path_ = {.isa = "eBPF", .detail = "XDP_TX in the driver's mode on " + info.interface, .driver = info.driver};
  }
  [[nodiscard]] std::unique_ptr<FlowTable> open(std::uint32_t /*core*/) override {
    return std::make_unique<KernelTable>(program_);
  }
  [[nodiscard]] PathInfo path() const override { return path_; }
  [[nodiscard]] std::size_t memory_bytes() const override { return program_.memory_bytes(); }
  [[nodiscard]] bool is_elsewhere() const override { return true; }
  [[nodiscard]] Elsewhere elsewhere() const override {
    const xdp_state state = program_.state();
    const std::uint64_t dropped = drops_ ? state.refused : 0;
    return {.received = state.received, .transmitted = state.received - dropped, .dropped = dropped, .unkeyed = state.unkeyed};
  }

 private:
  Program program_;
  bool drops_;
  PathInfo path_;
};

/// Run the frames through the program and the model, and compare both. @returns how many frames were run
std::size_t run_alike(Program& program, ModelTable& model, const Limits& limits, KeyKind kind, const Frames& frames,
                      const std::string& what) {
  std::size_t n = 0;
  std::uint64_t unkeyed = 0;
  for (const auto& frame : frames) {
    if (frame.size() < xdp::kLeastTested || frame.size() > xdp::kMostTested) continue;
    ++n;
    Key key;
    bool refused = false;
    if (make_key(frame, packet::parse(frame), kind, key)) {
      const auto bytes = static_cast<std::uint32_t>(frame.size() + FCS_BYTES);
      model.count({&key, 1}, &bytes, &refused, 0);
    } else {
      ++unkeyed;
    }
    const std::uint32_t verdict = refused && limits.full == Full::kDrop ? XDP_DROP : XDP_TX;
    const auto [got, out] = program.run(frame);
    if (got != verdict) {
      throw Error(what + ": verdict " + std::to_string(got) + " on frame " + std::to_string(n) + ", the model says " +
                  std::to_string(verdict));
    }
    std::vector<std::byte> swapped = frame;
    if (verdict == XDP_TX) std::swap_ranges(swapped.begin(), swapped.begin() + 6, swapped.begin() + 6);
    if (out != swapped)
      throw Error(what + ": frame " + std::to_string(n) + " does not come back with only its addresses swapped");
  }
  require_equal(KernelTable(program), model, what);
  const xdp_state state = program.state();
  if (state.received != n || state.unkeyed != unkeyed) {
    throw Error(what + ": " + std::to_string(state.unkeyed) + " of " + std::to_string(state.received) +
                " frames have no key, the model says " + std::to_string(unkeyed) + " of " + std::to_string(n));
  }
  return n;
}

/// Verify the program with an empty table, and again with the flows that the first run left. @returns how many frames each run
/// had
std::size_t verify_program(const Limits& limits, KeyKind kind, const Frames& frames) {
  const std::string what = std::string("flow-table, engine xdp, key=") + (kind == KeyKind::kPaper ? "paper" : "five_tuple");
  Program program(limits, kind);
  ModelTable model(limits);
  run_alike(program, model, limits, kind, frames, what);
  program.zero();
  model.zero();
  require_equal(KernelTable(program), model, what + ", counts zeroed");
  return run_alike(program, model, limits, kind, frames, what + ", with the flows of before");
}

class Xdp final : public TableEngine {
 public:
  [[nodiscard]] const char* name() const override { return "xdp"; }
  [[nodiscard]] const char* summary() const override {
    return "an eBPF program with a hash map in the interface's driver: the kernel counts and answers";
  }
  [[nodiscard]] const char* port() const override { return xdp::kPortKind; }
  [[nodiscard]] std::string unavailable() const override { return xdp::missing_right(); }
  [[nodiscard]] std::string unsupported_table(const TableSetting& setting) const override {
    if (setting.limits.retires()) {
      return "the kernel's hash map cannot retire a flow without losing packets that are counted meanwhile: use idle_ms=0 and "
             "full=drop or full=forward_uncounted";
    }
    return xdp::unsupported(setting.cores, setting.max_frame);
  }
  [[nodiscard]] std::string verify(const TableSetting& /*setting*/, const Frames& frames) const override {
    std::size_t n = 0;
    for (const KeyKind kind : {KeyKind::kPaper, KeyKind::kFiveTuple}) {
      for (const Full full : {Full::kDrop, Full::kForwardUncounted}) {
        n = verify_program({.flows = kVerifiedFlows, .full = full}, kind, frames);
      }
    }
    return "verdict, frame, packets and bytes equal those of the parser and a std::map on " + std::to_string(n) +
           " frames in the kernel's test run: both keys, table full";
  }
  [[nodiscard]] std::unique_ptr<TableSession> open_tables(const TableSetting& setting) const override {
    return std::make_unique<XdpSession>(setting);
  }
};

}  // namespace
}  // namespace dpubench::datapath::flow_table

DPUBENCH_STAGE_ENGINE(dpubench::datapath::flow_table::Xdp)
