// regex, engine regexdev: the rules in a device behind DPDK's regexdev, which compiles them and searches payloads. DPDK has no
// software driver of this class.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_regexdev.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "operators/engine.hpp"
#include "operators/regex/work.hpp"
#include "operators/support/dpdk/device.hpp"

namespace dpubench {
namespace {

using regex::RegexWork;

constexpr std::uint16_t kMostQueuePairs = 64;
constexpr std::uint16_t kMostMatches = 1024;    ///< matches requested per payload; a rule may match more than once
constexpr std::uint16_t kMostGroups = 64;       ///< rule sets of sessions that exist at the same time
constexpr std::uint32_t kMostRules = 1U << 20;  ///< rte_regexdev_match has 20 bits for the number of a rule

/// A configured and started device.
struct Device {
  std::uint8_t id = 0;
  std::string name;
  std::string driver;
  rte_device* device = nullptr;
  std::uint32_t capabilities = 0;  ///< RTE_REGEXDEV_CAPA_*, RTE_REGEXDEV_SUPP_*
  std::uint64_t rule_flags = 0;    ///< RTE_REGEX_PCRE_RULE_*
  std::uint16_t most_matches = 0;
  std::uint16_t most_bytes = 0;     ///< most bytes of a payload
  std::uint16_t most_segments = 0;  ///< most mbufs of a payload
  std::uint16_t queue_pairs = 0;
  std::vector<bool> groups;  ///< true for each group that a session uses
  std::unique_ptr<dpdk::Turn[]> turns;

  /// Return why the device cannot be used at all, or an empty string.
  [[nodiscard]] std::string unfit() const {
    if ((capabilities & RTE_REGEXDEV_CAPA_RUNTIME_COMPILATION_F) != 0) return {};
    return "the device " + name + " (driver " + driver +
           ") compiles no rules: it takes only databases from its vendor's compiler, and dpubench does not make these";
  }
};

/// Configure and start a device. An unfit device is left alone. @throws Error
std::unique_ptr<Device> start_device(std::uint8_t id) {
  auto device = std::make_unique<Device>();
  const auto demand = [&](int result, const std::string& what) {
    if (result < 0) throw Error("DPDK: " + what + " of " + device->name + ": " + rte_strerror(-result));
  };
  rte_regexdev_info info{};
  demand(rte_regexdev_info_get(id, &info), "rte_regexdev_info_get");
  device->id = id;
  device->name = info.dev == nullptr ? "regexdev " + std::to_string(id) : rte_dev_name(info.dev);
  device->driver = info.driver_name == nullptr ? "unknown" : info.driver_name;
  device->device = info.dev;
  device->capabilities = info.regexdev_capa;
  device->rule_flags = info.rule_flags;
  device->most_matches = std::clamp<std::uint16_t>(info.max_matches, 1, kMostMatches);
  device->most_bytes = info.max_payload_size;
  device->most_segments = std::max<std::uint16_t>(info.max_segs, 1);
  device->queue_pairs = std::clamp<std::uint16_t>(info.max_queue_pairs, 1, kMostQueuePairs);
  if (!device->unfit().empty()) return device;
  rte_regexdev_config configuration{};
  configuration.nb_max_matches = device->most_matches;
  configuration.nb_queue_pairs = device->queue_pairs;
  configuration.nb_rules_per_group = info.max_rules_per_group;  // 0 does not work, whatever rte_regexdev.h says
  configuration.nb_groups = std::clamp<std::uint16_t>(info.max_groups, 1, kMostGroups);
  device->groups.resize(configuration.nb_groups);
  demand(rte_regexdev_configure(id, &configuration), "rte_regexdev_configure");
  rte_regexdev_qp_conf queue{};
  queue.nb_desc = dpdk::kDescriptors;
  if ((device->capabilities & RTE_REGEXDEV_CAPA_QUEUE_PAIR_OOS_F) != 0) queue.qp_conf_flags = RTE_REGEX_QUEUE_PAIR_CFG_OOS_F;
  for (std::uint16_t i = 0; i < device->queue_pairs; ++i)
    demand(rte_regexdev_queue_pair_setup(id, i, &queue), "rte_regexdev_queue_pair_setup");
  device->turns = std::make_unique<dpdk::Turn[]>(device->queue_pairs);
  demand(rte_regexdev_start(id), "rte_regexdev_start");
  return device;
}

/// Return the first device that searches among those that the program was given, started. @throws Error
Device& named() {
  static auto& started = *new std::unique_ptr<Device>;
  if (named_devices().empty()) {
    throw Error("no device was named: give --device with the PCI address of one (DPDK has no driver of this class in software)");
  }
  static_cast<void>(dpdk::ready_devices());
  const std::scoped_lock lock(device_mutex());
  for (std::uint8_t id = 0; id < RTE_MAX_REGEXDEV_DEVS && started == nullptr; ++id) {
    if (rte_regexdev_is_valid_dev(id) != 0) started = start_device(id);
  }
  if (started == nullptr) throw Error("none of the devices named with --device is a regular-expression device of DPDK");
  if (const std::string reason = started->unfit(); !reason.empty()) throw Error(reason);
  return *started;
}

/// A rule set in the device. It has its own group, so that sessions live side by side.
class RuleSet {
 public:
  /// @throws Error when the device has no free group, when there are too many rules, or when the device cannot compile them
  RuleSet(Device& device, const RegexWork& work) : device_(device) {
    const std::scoped_lock lock(device_mutex());
    const auto free = std::find(device.groups.begin(), device.groups.end(), false);
    if (free == device.groups.end()) throw Error(device.name + ": all of its groups of rules are in use");
    if (work.rules.size() > kMostRules) throw Error("a device takes at most " + std::to_string(kMostRules) + " rules");
    group_ = static_cast<std::uint16_t>(free - device.groups.begin());
    bytes_ = regex::bitmap_bytes(work.rules.size());
    blank_.resize(2 * bytes_);
    for (std::uint32_t i = 0; i < work.rules.size(); ++i) add(work.rules, i);
    const int failed = added_.empty() ? 0 : rte_regexdev_rule_db_compile_activate(device.id);
    if (failed != 0) {
      remove();
      throw Error("DPDK: rte_regexdev_rule_db_compile_activate of " + device.name + ": " + rte_strerror(-failed));
    }
    device.groups[group_] = true;
  }
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;
  ~RuleSet() {
    const std::scoped_lock lock(device_mutex());
    remove();
    rte_regexdev_rule_db_compile_activate(device_.id);
    device_.groups[group_] = false;
  }

  [[nodiscard]] std::uint16_t group() const { return group_; }
  /// Return the output before a payload: no rule matches, refused rules are undecided.
  [[nodiscard]] std::span<const std::byte> blank() const { return blank_; }
  [[nodiscard]] std::size_t rules() const { return added_.size() + refused_; }
  [[nodiscard]] std::size_t refused() const { return refused_; }
  [[nodiscard]] const std::string& first_reason() const { return first_reason_; }

 private:
  void add(const std::vector<regex::Rule>& rules, std::uint32_t i) {
    const regex::Rule& rule = rules[i];
    rte_regexdev_rule entry{};
    entry.op = RTE_REGEX_RULE_OP_ADD;
    entry.group_id = group_;
    entry.rule_id = i;
    entry.pcre_rule = rule.pattern.c_str();
    entry.pcre_rule_len = static_cast<std::uint16_t>(rule.pattern.size());
    entry.rule_flags = (rule.caseless ? RTE_REGEX_PCRE_RULE_CASELESS_F : 0) | (rule.dotall ? RTE_REGEX_PCRE_RULE_DOTALL_F : 0) |
                       (rule.multiline ? RTE_REGEX_PCRE_RULE_MULTILINE_F : 0) |
                       (rule.extended ? RTE_REGEX_PCRE_RULE_EXTENDED_F : 0) | (rule.utf8 ? RTE_REGEX_PCRE_RULE_UTF_F : 0) |
                       (rule.ucp ? RTE_REGEX_PCRE_RULE_UCP_F : 0);
    // An empty match counts as a match.
    entry.rule_flags |= device_.rule_flags & RTE_REGEX_PCRE_RULE_ALLOW_EMPTY_F;
    std::string reason;
    if ((entry.rule_flags & ~device_.rule_flags) != 0) {
      reason = "the device does not support its flags";
    } else if (rule.pattern.size() > std::numeric_limits<std::uint16_t>::max()) {
      reason = "longer than 65535 B";
    } else if (rte_regexdev_rule_db_update(device_.id, &entry, 1) != 1) {
      reason = rte_strerror(rte_errno);
    }
    if (reason.empty()) return added_.push_back(i);
    if (refused_++ == 0) first_reason_ = "id " + std::to_string(rule.id) + ": " + reason;
    regex::set_bit(blank_.data() + bytes_, i);
  }

  void remove() {
    for (const std::uint32_t i : added_) {
      rte_regexdev_rule entry{};
      entry.op = RTE_REGEX_RULE_OP_REMOVE;
      entry.group_id = group_;
      entry.rule_id = i;
      rte_regexdev_rule_db_update(device_.id, &entry, 1);
    }
  }

  Device& device_;
  std::uint16_t group_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::byte> blank_;
  std::vector<std::uint32_t> added_;
  std::size_t refused_ = 0;
  std::string first_reason_;
};

/// The operations of a lane. Each operation has its own mbufs, and these point at the lane's buffers.
class RegexQueue {
 public:
  using Op = rte_regex_ops;

  /// @param segments  mbufs of a payload
  RegexQueue(Device& device, dpdk::Ordinals& ordinals, const RuleSet& rules, bool stream, std::uint32_t segments,
             std::uint32_t jobs)
      : lease_(ordinals), device_(device), rules_(rules), stream_(stream) {
    if (lease_.number() >= device.queue_pairs) {
      throw Error("device " + device.name + " has " + std::to_string(device.queue_pairs) +
                  " queue pairs: use no more threads than that");
    }
    queue_pair_ = static_cast<std::uint16_t>(lease_.number());
    // One block of memory holds, per operation: our own data, the operation with its matches, then its mbufs.
    mbufs_at_ = RTE_CACHE_LINE_ROUNDUP(sizeof(Own) + sizeof(Op) + device.most_matches * sizeof(rte_regexdev_match));
    const std::size_t each = mbufs_at_ + segments * sizeof(rte_mbuf);
    memory_.reset(static_cast<std::byte*>(rte_zmalloc("dpubench regex operations", jobs * each, RTE_CACHE_LINE_SIZE)));
    if (memory_ == nullptr) throw Error("DPDK has no memory left for " + std::to_string(jobs) + " operations of a thread");
    for (std::uint32_t i = 0; i < jobs; ++i) {
      Op* const op = reinterpret_cast<Op*>(memory_.get() + i * each + sizeof(Own));
      operations_.push_back(op);
      op->req_flags = RTE_REGEX_OPS_REQ_GROUP_ID0_VALID_F;
      op->group_id0 = rules.group();
      op->mbuf = mbufs_of(op);
      for (std::uint32_t s = 0; s < segments; ++s) {
        rte_mbuf& m = mbufs_of(op)[s];
        m.nb_segs = 1;
        m.port = RTE_MBUF_PORT_INVALID;
        m.ol_flags = RTE_MBUF_F_EXTERNAL;
        rte_mbuf_refcnt_set(&m, 1);
      }
    }
  }

  [[nodiscard]] std::span<Op* const> operations() const { return operations_; }
  static dpdk::Tag& tag(Op* op) noexcept { return reinterpret_cast<Own*>(op)[-1].tag; }
  [[nodiscard]] dpdk::Turn& turn() noexcept { return device_.turns[queue_pair_]; }
  void attach(std::span<std::byte> memory) {
    if (device_.device != nullptr) mapping_ = dpdk::Mapping(*device_.device, memory);
  }

  void fill(Op* op, const Burst& b, std::uint32_t i) noexcept {
    op->rsp_flags = 0;
    op->nb_matches = 0;
    op->nb_actual_matches = 0;
    rte_mbuf* const first = mbufs_of(op);
    if (!stream_) {
      point(*first, b.in[i], b.in_len[i]);
      first->pkt_len = b.in_len[i];
      return;
    }
    // The device searches a flow as one payload whose bytes lie in several places.
    const regex::Segments segments(b.aux[i]);
    first->pkt_len = 0;
    first->nb_segs = static_cast<std::uint16_t>(segments.size());
    for (std::uint32_t s = 0; s < segments.size(); ++s) {
      point(first[s], b.in[i] + segments[s].offset, segments[s].length);
      first->pkt_len += segments[s].length;
      if (s != 0) first[s - 1].next = &first[s];
    }
  }

  std::uint16_t enqueue(Op** ops, std::uint16_t n) noexcept {
    return rte_regexdev_enqueue_burst(device_.id, queue_pair_, ops, n);
  }
  std::uint16_t dequeue(Op** ops, std::uint16_t n) noexcept {
    return rte_regexdev_dequeue_burst(device_.id, queue_pair_, ops, n);
  }

  static bool refused(const Op*) noexcept { return false; }  // an operation has no status

  bool complete(Op* op, Burst& b, std::uint32_t i) noexcept {
    const std::span<const std::byte> blank = rules_.blank();
    std::byte* const out = b.out[i];
    std::memcpy(out, blank.data(), blank.size());
    std::uint64_t hits = 0;
    for (std::uint16_t k = 0; k < op->nb_matches; ++k) {
      const std::uint32_t rule = op->matches[k].rule_id;
      if (rule >= rules_.rules() || regex::bit({out, blank.size()}, rule)) continue;
      regex::set_bit(out, rule);
      ++hits;
    }
    // A search that was broken off says nothing about the rules that it did not find. RTE_REGEX_OPS_RSP_RESOURCE_LIMIT_REACHED_F
    // is the same bit as the last of these flags.
    constexpr unsigned kBrokenOff =
        RTE_REGEX_OPS_RSP_MAX_SCAN_TIMEOUT_F | RTE_REGEX_OPS_RSP_MAX_MATCH_F | RTE_REGEX_OPS_RSP_MAX_PREFIX_F;
    if ((op->rsp_flags & kBrokenOff) != 0 || op->nb_actual_matches > op->nb_matches) {
      std::byte* const undecided = out + blank.size() / 2;
      for (std::uint32_t rule = 0; rule < rules_.rules(); ++rule) {
        if (!regex::bit({out, blank.size() / 2}, rule)) regex::set_bit(undecided, rule);
      }
    }
    b.result[i] = hits;
    b.out_len[i] = static_cast<std::uint32_t>(blank.size());
    b.status[i] = kStatusOk;
    return true;
  }

 private:
  /// Data before each operation, because its matches follow it.
  struct alignas(16) Own {
    dpdk::Tag tag;
  };
  struct Free {
    void operator()(std::byte* memory) const { rte_free(memory); }
  };

  [[nodiscard]] rte_mbuf* mbufs_of(Op* op) const noexcept {
    return reinterpret_cast<rte_mbuf*>(reinterpret_cast<std::byte*>(op) - sizeof(Own) + mbufs_at_);
  }
  static void point(rte_mbuf& m, const std::byte* data, std::uint32_t length) noexcept {
    m.buf_addr = const_cast<std::byte*>(data);  // the device only reads
    rte_mbuf_iova_set(&m, reinterpret_cast<rte_iova_t>(data));
    m.buf_len = m.data_len = static_cast<std::uint16_t>(length);
    m.next = nullptr;
  }

  dpdk::Ordinals::Lease lease_;
  Device& device_;
  const RuleSet& rules_;
  bool stream_;
  std::uint16_t queue_pair_ = 0;
  std::size_t mbufs_at_ = 0;
  std::unique_ptr<std::byte, Free> memory_;
  std::vector<Op*> operations_;
  dpdk::Mapping mapping_;
};

/// Return why payloads of this size, or flows, cannot be searched, or an empty string.
std::string too_much(const Device& device, std::uint64_t bytes, std::uint64_t segments) {
  if (segments > device.most_segments)
    return "the device takes payloads of at most " + std::to_string(device.most_segments) + " buffers, and a flow has " +
           std::to_string(segments);
  if (bytes > device.most_bytes) return "the device takes payloads of at most " + std::to_string(device.most_bytes) + " B";
  return {};
}

class RegexdevSession final : public Session {
 public:
  RegexdevSession(Device& device, const RegexWork& work) : device_(device), stream_(work.stream), rules_(device, work) {
    for (const Item& item : work.items) {
      std::uint64_t bytes = item.in.size();
      if (work.stream) {
        const regex::Segments segments(item.aux.data());
        segments_ = std::max(segments_, segments.size());
        bytes = 0;
        for (std::uint32_t s = 0; s < segments.size(); ++s) bytes += segments[s].length;
      }
      if (const std::string reason = too_much(device, bytes, segments_); !reason.empty()) throw Error(reason);
    }
    path_ = {"device",
             "rte_regexdev_enqueue_burst, at most " + std::to_string(device.most_matches) + " matches of a payload" +
                 regex::compiled_summary(work, rules_.refused(), "regexdev", rules_.first_reason()),
             true, device.driver, device.name};
    path_.max_in_flight = kJobs;
  }
  std::unique_ptr<Lane> open() override {
    return std::make_unique<dpdk::QueueLane<RegexQueue>>(
        std::make_unique<RegexQueue>(device_, ordinals_, rules_, stream_, segments_, kJobs));
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  static constexpr std::uint32_t kJobs = 1024;
  Device& device_;
  bool stream_;
  RuleSet rules_;
  std::uint32_t segments_ = 1;
  dpdk::Ordinals ordinals_;
  PathInfo path_;
};

class Regexdev final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::string unavailable() const override {
    return dpdk::reason_of([] { return static_cast<void>(named()), std::string(); });
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    constexpr std::uint64_t kSegments = 4;  // segments of a flow
    const std::uint64_t segments = params.is("mode", "stream") ? kSegments : 1;
    return dpdk::reason_of([&] { return too_much(named(), segments * params.number("size"), segments); });
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<RegexdevSession>(named(), static_cast<const RegexWork&>(work));
  }

 private:
  EngineInfo info_{"regex", "regexdev", "DPDK regexdev on the device that --device names: it compiles the rules and searches",
                   dpdk::version(), dpdk::kDefaultInFlight};
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Regexdev>());
}
