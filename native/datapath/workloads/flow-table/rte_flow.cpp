// flow-table, engine rte-flow: the device counts. The portable table counts a new flow until the port's driver has a rule for
// it. The rule counts, marks and delivers. A marked packet has been counted, so that each packet is counted once.
#include <rte_ethdev.h>
#include <rte_flow.h>

#include <netinet/in.h>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "datapath/ports/eth.hpp"
#include "datapath/workloads/flow-table/engine.hpp"
#include "datapath/workloads/flow-table/oracle.hpp"
#include "datapath/workloads/flow-table/own_tables.hpp"
#include "datapath/workloads/flow-table/portable.hpp"

namespace dpubench::datapath::flow_table {
namespace {

/// Prefix of the class of network devices of any kind (PCI Code and ID Assignment Specification, class 02h).
constexpr std::string_view kNetworkClass = "0x02";

bool is_transport(std::uint8_t protocol) {
  return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

/// The rule of one flow: the packets that it matches, and the actions of the device on them.
class Rule {
 public:
  /// @param queue  queue to deliver to: the one where the flow's first packet came @param mark  any number below 2^20
  Rule(const Key& key, std::uint16_t queue, std::uint32_t mark) : queue_{.index = queue}, mark_{.id = mark} {
    items_[0].type = RTE_FLOW_ITEM_TYPE_ETH;
    if (key.version == 4) {
      match_ipv4(key);
    } else {
      match_ipv6(key);
    }
    match_ports(key);
    items_[3].type = RTE_FLOW_ITEM_TYPE_END;
    actions_[0] = {.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = &count_};
    actions_[1] = {.type = RTE_FLOW_ACTION_TYPE_MARK, .conf = &mark_};
    actions_[2] = {.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue_};
    actions_[3] = {.type = RTE_FLOW_ACTION_TYPE_END, .conf = nullptr};
  }
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  /// Return why the driver refuses such a rule, or an empty string if it takes it.
  [[nodiscard]] std::string refusal(std::uint16_t port) const {
    rte_flow_error error{};
    const int failed = rte_flow_validate(port, &kIngress, items_.data(), actions_.data(), &error);
    if (failed == 0) return {};
    return std::string(error.message == nullptr ? "no reason given" : error.message) + " (" + rte_strerror(-failed) + ")";
  }
  /// Create the rule. Return null when the driver has no room.
  [[nodiscard]] rte_flow* create(std::uint16_t port) const noexcept {
    rte_flow_error error{};
    return rte_flow_create(port, &kIngress, items_.data(), actions_.data(), &error);
  }

 private:
  static constexpr rte_flow_attr kIngress = [] {
    rte_flow_attr attributes{};
    attributes.ingress = 1;
    return attributes;
  }();

  void match_ipv4(const Key& key) {
    std::memcpy(&ipv4_.hdr.src_addr, key.source.data(), 4);
    std::memcpy(&ipv4_.hdr.dst_addr, key.destination.data(), 4);
    ipv4_.hdr.next_proto_id = key.protocol;
    ipv4_mask_.hdr.src_addr = ipv4_mask_.hdr.dst_addr = 0xffff'ffffU;
    ipv4_mask_.hdr.next_proto_id = 0xff;
    items_[1] = {.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ipv4_, .last = nullptr, .mask = &ipv4_mask_};
  }
  void match_ipv6(const Key& key) {
    std::memcpy(ipv6_.hdr.src_addr, key.source.data(), 16);
    std::memcpy(ipv6_.hdr.dst_addr, key.destination.data(), 16);
    ipv6_.hdr.proto = key.protocol;
    std::memset(ipv6_mask_.hdr.src_addr, 0xff, 16);
    std::memset(ipv6_mask_.hdr.dst_addr, 0xff, 16);
    ipv6_mask_.hdr.proto = 0xff;
    items_[1] = {.type = RTE_FLOW_ITEM_TYPE_IPV6, .spec = &ipv6_, .last = nullptr, .mask = &ipv6_mask_};
  }
  /// Match the two ports, with which both headers begin.
  void match_ports(const Key& key) {
    const rte_be16_t source = htons(key.source_port(KeyKind::kFiveTuple));
    const rte_be16_t destination = htons(key.destination_port);
    if (key.protocol == IPPROTO_UDP) {
      udp_.hdr.src_port = source;
      udp_.hdr.dst_port = destination;
      udp_mask_.hdr.src_port = udp_mask_.hdr.dst_port = 0xffff;
      items_[2] = {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp_, .last = nullptr, .mask = &udp_mask_};
    } else {
      tcp_.hdr.src_port = source;
      tcp_.hdr.dst_port = destination;
      tcp_mask_.hdr.src_port = tcp_mask_.hdr.dst_port = 0xffff;
      items_[2] = {.type = RTE_FLOW_ITEM_TYPE_TCP, .spec = &tcp_, .last = nullptr, .mask = &tcp_mask_};
    }
  }

  rte_flow_item_ipv4 ipv4_{}, ipv4_mask_{};
  rte_flow_item_ipv6 ipv6_{}, ipv6_mask_{};
  rte_flow_item_udp udp_{}, udp_mask_{};
  rte_flow_item_tcp tcp_{}, tcp_mask_{};
  rte_flow_action_count count_{};
  rte_flow_action_queue queue_;
  rte_flow_action_mark mark_;
  std::array<rte_flow_item, 4> items_{};
  std::array<rte_flow_action, 4> actions_{};
};

/// Return an example flow, to ask a driver whether it takes such rules at all.
Key example() {
  Key key;
  key.version = 4;
  key.protocol = IPPROTO_UDP;
  key.destination_port = 9;
  key.source[0] = key.destination[0] = std::byte{10};
  return key;
}

class DeviceTable final : public FlowTable {
 public:
  DeviceTable(std::unique_ptr<FlowTable> rest, std::uint16_t port, std::uint16_t queue, std::uint32_t flows)
      : rest_(std::move(rest)), port_(port), queue_(queue) {
    rules_.reserve(flows);
  }
  ~DeviceTable() override { remove_rules(); }

  std::uint32_t count(std::span<const Key> keys, const std::uint32_t* bytes, bool* refused,
                      std::uint32_t now_ms) noexcept override {
    std::uint32_t n_refused = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t before = rest_->totals().inserted;
      n_refused += rest_->count(keys.subspan(i, 1), bytes + i, refused + i, now_ms);
      const bool is_new = rest_->totals().inserted != before;
      if (!is_new || !is_transport(keys[i].protocol) || rules_.size() == rules_.capacity()) continue;
      const Rule rule(keys[i], queue_, static_cast<std::uint32_t>(rules_.size()) & 0xfffffU);
      if (rte_flow* const flow = rule.create(port_); flow != nullptr) rules_.push_back({keys[i], flow});
    }
    return n_refused;
  }
  void age(std::uint32_t /*now_ms*/, std::uint32_t /*places*/) noexcept override {}
  void clear() override {
    remove_rules();
    rest_->clear();
  }
  void zero() override {
    rest_->zero();
    for (const Installed& rule : rules_) {
      static_cast<void>(read(rule, true));
      if (read(rule, false).hits != 0) {
        throw Error("flow-table, engine rte-flow: the device does not reset a rule's counter to 0; use start=cold");
      }
    }
  }
  [[nodiscard]] Totals totals() const override { return rest_->totals(); }
  void for_each(const std::function<void(const FlowRecord&)>& visit) const override {
    rest_->for_each(visit);
    for (const Installed& rule : rules_) {
      const rte_flow_query_count counters = read(rule, false);
      if (counters.hits != 0) visit({rule.key, counters.hits, counters.bytes});
    }
  }
  [[nodiscard]] std::size_t memory_bytes() const override {
    return rest_->memory_bytes() + rules_.capacity() * sizeof(Installed);
  }

 private:
  struct Installed {
    Key key;
    rte_flow* flow;
  };
  /// Read a rule's counters. @param resets  also set them to 0 @throws Error
  [[nodiscard]] rte_flow_query_count read(const Installed& rule, bool resets) const {
    const rte_flow_action action = {.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = nullptr};
    rte_flow_query_count counters{};
    counters.reset = resets ? 1 : 0;
    rte_flow_error error{};
    if (const int failed = rte_flow_query(port_, rule.flow, &action, &counters, &error); failed != 0) {
      throw Error("flow-table, engine rte-flow: a flow's counters cannot be read: " +
                  std::string(error.message == nullptr ? rte_strerror(-failed) : error.message));
    }
    return counters;
  }
  void remove_rules() noexcept {
    rte_flow_error error{};
    for (const Installed& rule : rules_) rte_flow_destroy(port_, rule.flow, &error);
    rules_.clear();
  }

  std::unique_ptr<FlowTable> rest_;
  std::uint16_t port_;
  std::uint16_t queue_;
  std::vector<Installed> rules_;
};

class DeviceSession final : public TableSession {
 public:
  DeviceSession(const TableSetting& setting, const EthPort& port) : setting_(setting), port_(port) {}
  [[nodiscard]] std::unique_ptr<FlowTable> open(std::uint32_t core) override {
    return std::make_unique<DeviceTable>(make_portable_table(setting_.limits), port_.number(), static_cast<std::uint16_t>(core),
                                         setting_.limits.flows);
  }
  [[nodiscard]] PathInfo path() const override {
    return {.isa = "device",
            .detail = "rte_flow: count, mark and queue for each flow",
            .is_hardware = !port_.info().is_virtual,
            .driver = port_.info().driver};
  }
  [[nodiscard]] std::size_t memory_bytes() const override { return 0; }
  [[nodiscard]] bool counts_marked() const override { return true; }

 private:
  TableSetting setting_;
  const EthPort& port_;
};

class RteFlow final : public TableEngine {
 public:
  [[nodiscard]] const char* name() const override { return "rte-flow"; }
  [[nodiscard]] const char* summary() const override { return "the device's own counters, a rule for each flow"; }
  [[nodiscard]] std::string unavailable() const override {
    std::error_code none;
    for (const auto& device : std::filesystem::directory_iterator("/sys/bus/pci/devices", none)) {
      std::string code;
      if (std::ifstream(device.path() / "class") >> code && code.starts_with(kNetworkClass)) return {};
    }
    return "this machine has no PCI network device, and no driver of a software port counts flows";
  }
  [[nodiscard]] std::string unsupported_table(const TableSetting& setting) const override {
    const auto* const port = setting.ports.empty() ? nullptr : dynamic_cast<const EthPort*>(setting.ports[0].get());
    const bool may_be_open = setting.ports.empty() && setting.port_kind == "pci";
    if (port == nullptr && !may_be_open) return "needs a port with a DPDK driver (kind pci)";
    if (setting.key != KeyKind::kFiveTuple) return "a rule matches one protocol, but key=paper has none: use key=five_tuple";
    if (setting.limits.retires()) return "a rule's last packets are lost when it is removed: use idle_ms=0 and no eviction";
    if (port == nullptr) return {};
    const std::string refusal = Rule(example(), 0, 1).refusal(port->number());
    return refusal.empty() ? refusal : port->info().driver + " counts no flows: " + refusal;
  }
  [[nodiscard]] std::string verify(const TableSetting& setting, const Frames& frames) const override {
    return "counts in software: " + verify_tables(make_portable_table, frames, setting.seed) +
           "; every trial compares the device's counts";
  }
  [[nodiscard]] std::unique_ptr<TableSession> open_tables(const TableSetting& setting) const override {
    return std::make_unique<DeviceSession>(setting, dynamic_cast<const EthPort&>(*setting.ports[0]));
  }
};

DPUBENCH_LINKED_STAGE_ENGINE(kWorkload, RteFlow);

}  // namespace
}  // namespace dpubench::datapath::flow_table
