// flow-table, engine xdp: an eBPF program with a hash map, attached to the interface in the driver's own mode. The kernel counts
// and answers; no packet reaches this process.
// requires: libbpf >= 0.7
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "datapath/job.hpp"
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

constexpr const char* kPortKind = "xdp";
/// The kernel's test run takes an Ethernet header at least, and a page less its own head and tail at most.
constexpr std::size_t kLeastTested = 14;
constexpr std::size_t kMostTested = 3072;
/// Head room and tail of the page that holds a frame in the drivers' mode.
constexpr std::uint32_t kMostFrame = 3500;
constexpr std::uint32_t kVerifiedFlows = 300;
/// Before a trial nothing may come for so long, or it begins after so many waits all the same, and its check tells.
constexpr std::chrono::milliseconds kQuiet(20);
constexpr unsigned kMostWaits = 100;

/// What libbpf and the kernel's verifier said last: the reason behind an errno.
std::string& last_message() {
  thread_local std::string message;
  return message;
}

int keep_message(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  std::array<char, 2048> text;
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): libbpf starts it
  const int n = std::vsnprintf(text.data(), text.size(), format, arguments);
  last_message() = text.data();
  while (!last_message().empty() && last_message().back() == '\n') last_message().pop_back();
  return n;
}

[[noreturn]] void fail(const std::string& what, int error) {
  std::string text = "flow-table, engine xdp: " + what + ": " + std::strerror(error);
  if (!last_message().empty()) text += " (" + last_message() + ")";
  throw Error(text);
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  void reset(int fd) { fd_ = fd; }

 private:
  int fd_ = -1;
};

/// The program and its maps in the kernel, which go with this or with the process: nothing is pinned.
class Program {
 public:
  Program(const Limits& limits, KeyKind key) {
    libbpf_set_print(keep_message);
    last_message().clear();
    object_.reset(bpf_object__open_mem(kProgram, sizeof kProgram, nullptr));
    if (object_ == nullptr) fail("the program cannot be read", errno);
    bpf_map* const flows = bpf_object__find_map_by_name(object_.get(), "flows");
    if (flows == nullptr || bpf_map__set_max_entries(flows, limits.flows) != 0) fail("the map cannot be sized", errno);
    if (const int failed = bpf_object__load(object_.get()); failed != 0) {
      fail("the kernel does not load the program with a map of " + std::to_string(limits.flows) +
               " flows; it needs CAP_BPF and CAP_NET_ADMIN, Linux 5.17 or newer with eBPF, and the memory",
           -failed);
    }
    flows_ = bpf_map__fd(flows);
    state_ = bpf_object__find_map_fd_by_name(object_.get(), "state");
    program_ = bpf_program__fd(bpf_object__find_program_by_name(object_.get(), "flow_table"));
    settings_.is_five_tuple = key == KeyKind::kFiveTuple ? 1 : 0;
    settings_.drops_when_full = limits.full == Full::kDrop ? 1 : 0;
    reset_state();
  }

  /// In the driver's own mode; detached when the link's descriptor is closed, by this or by the process's end.
  void attach(const std::string& interface) {
    const unsigned index = if_nametoindex(interface.c_str());
    if (index == 0) fail("there is no interface '" + interface + "' in this network namespace", errno);
    bpf_link_create_opts options{};
    options.sz = sizeof options;
    options.flags = XDP_FLAGS_DRV_MODE;
    const int link = bpf_link_create(program_, static_cast<int>(index), BPF_XDP, &options);
    if (link < 0) {
      const int error = errno;
      fail(
          "cannot be attached to " + interface +
              " in its driver's mode; the driver must know XDP, no other XDP program may be there, and the MTU of both ends of a "
              "veth must let a frame lie in one page",
          error);
    }
    link_.reset(link);
  }

  /// What the kernel would do with a frame. @returns its verdict, the frame as it would go out
  std::pair<std::uint32_t, std::vector<std::byte>> run(const std::vector<std::byte>& frame) {
    std::vector<std::byte> out(frame.size());
    bpf_test_run_opts options{};
    options.sz = sizeof options;
    options.data_in = frame.data();
    options.data_size_in = static_cast<std::uint32_t>(frame.size());
    options.data_out = out.data();
    options.data_size_out = static_cast<std::uint32_t>(out.size());
    options.repeat = 1;
    if (const int failed = bpf_prog_test_run_opts(program_, &options); failed != 0) fail("the kernel's test run fails", -failed);
    out.resize(options.data_size_out);
    return {options.retval, std::move(out)};
  }

  void clear() {
    // The program does not tell trials apart: packets that the link still held of the one before must be through first.
    for (unsigned i = 0; i < kMostWaits; ++i) {
      const std::uint64_t received = state().received;
      clear_flows();
      std::this_thread::sleep_for(kQuiet);
      if (state().received == received) break;
    }
    reset_state();
  }

  [[nodiscard]] xdp_state state() const {
    xdp_state now{};
    const std::uint32_t zero = 0;
    if (bpf_map_lookup_elem(state_, &zero, &now) != 0) fail("its counters cannot be read", errno);
    return now;
  }

  /// @throws Error
  void for_each(const std::function<void(const FlowRecord&)>& visit) const {
    xdp_key key{};
    for (const xdp_key* from = nullptr; bpf_map_get_next_key(flows_, from, &key) == 0; from = &key) {
      xdp_counters counters{};
      if (bpf_map_lookup_elem(flows_, &key, &counters) != 0) fail("a flow cannot be read", errno);
      visit({std::bit_cast<Key>(key), counters.packets, counters.bytes});
    }
  }

  /// As the kernel accounts it.
  [[nodiscard]] std::size_t memory_bytes() const {
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(flows_));
    for (std::string word; info >> word;) {
      std::size_t bytes = 0;
      if (word == "memlock:" && info >> bytes) return bytes;
    }
    return 0;
  }

 private:
  struct Close {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
  };

  void clear_flows() {
    // The next key is asked for while the one before it is there: from the beginning, each question would pass all empty buckets.
    xdp_key key{};
    xdp_key next{};
    for (bool more = bpf_map_get_next_key(flows_, nullptr, &key) == 0; more; key = next) {
      more = bpf_map_get_next_key(flows_, &key, &next) == 0;
      bpf_map_delete_elem(flows_, &key);
    }
  }

  void reset_state() {
    const std::uint32_t zero = 0;
    if (bpf_map_update_elem(state_, &zero, &settings_, BPF_ANY) != 0) fail("its counters cannot be reset", errno);
  }

  std::unique_ptr<bpf_object, Close> object_;
  Descriptor link_;
  int flows_ = -1;
  int state_ = -1;
  int program_ = -1;
  xdp_state settings_{};
};

/// The kernel's map, for reading.
class KernelTable final : public FlowTable {
 public:
  explicit KernelTable(Program& program) : program_(program) {}
  std::uint32_t count(std::span<const Key>, const std::uint32_t*, bool*, std::uint32_t) noexcept override { return 0; }
  void age(std::uint32_t, std::uint32_t) noexcept override {}
  void clear() override { program_.clear(); }
  [[nodiscard]] Totals totals() const override {
    const xdp_state state = program_.state();
    return {.flows = state.inserted, .inserted = state.inserted, .refused = state.refused};
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
    const PortInfo& info = setting.ports[0]->info();
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

/// Runs the frames through the program and the model. @returns how many
std::size_t verify_program(const Limits& limits, KeyKind kind, const Frames& frames) {
  const std::string what = std::string("flow-table, engine xdp, key=") + (kind == KeyKind::kPaper ? "paper" : "five_tuple");
  Program program(limits, kind);
  ModelTable model(limits);
  std::size_t n = 0;
  std::uint64_t unkeyed = 0;
  for (const auto& frame : frames) {
    if (frame.size() < kLeastTested || frame.size() > kMostTested) continue;
    ++n;
    Key key;
    bool refused = false;
    if (make_key(frame, parse(frame), kind, key)) {
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
      throw Error(what + ": frame " + std::to_string(n) + " does not come back with its addresses swapped alone");
  }
  require_equal(KernelTable(program), model, what);
  const xdp_state state = program.state();
  if (state.received != n || state.unkeyed != unkeyed) {
    throw Error(what + ": " + std::to_string(state.unkeyed) + " of " + std::to_string(state.received) +
                " frames have no key, the model says " + std::to_string(unkeyed) + " of " + std::to_string(n));
  }
  return n;
}

class Xdp final : public TableEngine {
 public:
  [[nodiscard]] const char* name() const override { return "xdp"; }
  [[nodiscard]] const char* summary() const override {
    return "an eBPF program with a hash map in the interface's driver: the kernel counts and answers";
  }
  [[nodiscard]] std::string unavailable() const override {
    constexpr std::uint64_t kNetAdmin = std::uint64_t{1} << 12;  // linux/capability.h
    constexpr std::uint64_t kSysAdmin = std::uint64_t{1} << 21;
    constexpr std::uint64_t kBpf = std::uint64_t{1} << 39;
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      std::uint64_t has = 0;
      if (word != "CapEff:" || !(status >> std::hex >> has)) continue;
      if ((has & kSysAdmin) != 0 || (has & (kBpf | kNetAdmin)) == (kBpf | kNetAdmin)) return {};
    }
    return "loading an XDP program needs CAP_BPF and CAP_NET_ADMIN: run as root";
  }
  [[nodiscard]] std::string unsupported(const TableSetting& setting) const override {
    if (setting.ports.empty() || setting.ports[0]->info().kind != kPortKind)
      return "needs a port of kind xdp, which names the interface";
    if (setting.limits.retires()) {
      return "the kernel's hash map cannot retire a flow without losing packets that are counted meanwhile: use idle_ms=0 and "
             "full=drop or full=forward_uncounted";
    }
    if (setting.cores != 1) return "the kernel spreads packets over CPUs itself: name one CPU for the server's loop";
    if (setting.max_frame > kMostFrame)
      return "a driver's frame lies in one page: frames of at most " + std::to_string(kMostFrame) + " bytes";
    return {};
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
  [[nodiscard]] std::unique_ptr<TableSession> open(const TableSetting& setting) const override {
    return std::make_unique<XdpSession>(setting);
  }
};

}  // namespace
}  // namespace dpubench::datapath::flow_table

DPUBENCH_STAGE_ENGINE(dpubench::datapath::flow_table::Xdp)
