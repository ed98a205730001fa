// ring: two ports in one process, joined by a ring in each direction. Pointers pass; nothing is copied.
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_ring.h>

#include <array>
#include <atomic>
#include <bit>
#include <mutex>

#include "base/error.hpp"
#include "datapath/ports/eth.hpp"
#include "operators/support/dpdk/dpdk.hpp"

namespace dpubench::datapath {
namespace {

/// Both directions of a pair: a ring for each queue. Each queue has one thread at each end.
class Pair {
 public:
  Pair(const std::string& name, std::uint32_t packets, std::uint16_t queues) : packets_(packets) {
    static std::atomic<unsigned> serial = 0;
    for (std::size_t side = 0; side < 2; ++side) {
      for (std::uint16_t queue = 0; queue < queues; ++queue) {
        const std::string own = "dpubench-ring" + std::to_string(serial++);
        rte_ring* const ring =
            rte_ring_create(own.c_str(), packets, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
        if (ring == nullptr) {
          const std::string reason = rte_strerror(rte_errno);
          free_all();
          throw Error("port ring: " + name + ": cannot make a ring of " + std::to_string(packets) + " packets: " + reason);
        }
        towards_[side].push_back(ring);
      }
    }
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() { free_all(); }

  [[nodiscard]] std::uint16_t queues() const { return static_cast<std::uint16_t>(towards_[0].size()); }
  [[nodiscard]] std::uint32_t packets() const { return packets_; }
  /// Return the rings that bring packets to the side of this role.
  [[nodiscard]] const std::vector<rte_ring*>& towards(Role role) const { return towards_[role == Role::kServer ? 0 : 1]; }

  std::array<std::atomic<bool>, 2> open = {false, false};  ///< by role

 private:
  void free_all() {
    for (std::vector<rte_ring*>& side : towards_) {
      for (rte_ring* ring : side) {
        void* packet = nullptr;
        while (rte_ring_dequeue(ring, &packet) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
        rte_ring_free(ring);
      }
    }
  }

  std::uint32_t packets_;
  std::array<std::vector<rte_ring*>, 2> towards_;
};

/// Return the pairs of which a side is open, by name.
std::map<std::string, std::weak_ptr<Pair>>& pairs() {
  static std::map<std::string, std::weak_ptr<Pair>> all;
  return all;
}

std::size_t index(Role role) {
  return role == Role::kServer ? 0 : 1;
}

class RingPort final : public Port {
 public:
  RingPort(std::shared_ptr<Pair> pair, Role role, PortInfo info)
      : pair_(std::move(pair)), role_(role), info_(std::move(info)), counts_(pair_->queues()) {
    pair_->open[index(role_)] = true;
  }
  RingPort(const RingPort&) = delete;
  RingPort& operator=(const RingPort&) = delete;
  ~RingPort() override { pair_->open[index(role_)] = false; }

  [[nodiscard]] const PortInfo& info() const override { return info_; }
  std::uint16_t receive(std::uint16_t queue, rte_mbuf** packets, std::uint16_t n) noexcept override {
    const unsigned taken = rte_ring_sc_dequeue_burst(pair_->towards(role_)[queue], reinterpret_cast<void**>(packets), n, nullptr);
    counts_[queue].received += taken;
    return static_cast<std::uint16_t>(taken);
  }
  std::uint16_t transmit(std::uint16_t queue, rte_mbuf* const* packets, std::uint16_t n) noexcept override {
    rte_ring* const ring = pair_->towards(role_ == Role::kServer ? Role::kClient : Role::kServer)[queue];
    const unsigned taken = rte_ring_sp_enqueue_burst(ring, reinterpret_cast<void* const*>(packets), n, nullptr);
    counts_[queue].transmitted += taken;
    return static_cast<std::uint16_t>(taken);
  }
  [[nodiscard]] bool is_up() const noexcept override { return pair_->open[0] && pair_->open[1]; }
  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const override {
    Counts all;
    for (const Counts& one : counts_) {
      all.received += one.received;
      all.transmitted += one.transmitted;
    }
    return {{"rx_good_packets", all.received}, {"tx_good_packets", all.transmitted}};
  }
  [[nodiscard]] std::uint32_t queue_packets() const noexcept override { return pair_->packets() * pair_->queues(); }

 private:
  /// The counts of a queue, on a cache line of its own because queues have different threads.
  struct alignas(RTE_CACHE_LINE_SIZE) Counts {
    std::uint64_t received = 0;
    std::uint64_t transmitted = 0;
  };

  std::shared_ptr<Pair> pair_;
  Role role_;
  PortInfo info_;
  std::vector<Counts> counts_;
};

class Ring final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "ring",
        .summary = "both sides in one process: pointers to packets pass through a ring in each direction",
        .arguments = {{"name", "name of the pair, the same on both sides", "pair"},
                      {"ring", "packets that each ring holds", "1024"}},
        .shares_buffers = true,
    };
    return info;
  }

  [[nodiscard]] std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const override {
    dpdk::require_eal();
    const std::string name = argument(info(), spec, "name");
    const std::uint32_t packets = number_argument(info(), spec, "ring", 2, 1U << 20);
    const std::scoped_lock lock(device_mutex());
    std::shared_ptr<Pair> pair = pairs()[name].lock();
    if (pair == nullptr) {
      pair = std::make_shared<Pair>(name, packets, resources.queues);
      pairs()[name] = pair;
    }
    if (pair->open[index(spec.role)]) {
      throw Error("port ring: the pair '" + name + "' has a " + (spec.role == Role::kServer ? "server" : "client") +
                  " already; give the sides different roles, or this pair another name");
    }
    if (pair->queues() != resources.queues || pair->packets() != packets) {
      throw Error("port ring: the sides of the pair '" + name + "' differ in their queues (" + std::to_string(pair->queues()) +
                  ", " + std::to_string(resources.queues) + ") or ring (" + std::to_string(pair->packets()) + ", " +
                  std::to_string(packets) + ")");
    }
    PortInfo opened{.kind = "ring",
                    .driver = "rte_ring",
                    .detail = "rings of " + std::to_string(packets),
                    .is_virtual = true,
                    .shares_buffers = true,
                    .mtu_frame = resources.max_frame};
    return std::make_unique<RingPort>(std::move(pair), spec.role, std::move(opened));
  }
};

DPUBENCH_PORT(Ring);

}  // namespace
}  // namespace dpubench::datapath
