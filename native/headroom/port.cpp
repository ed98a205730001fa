// Ports of DPDK as a way out and in, and as the two sides of a forwarder: whatever kinds study end-to-end has (datapath/ports).
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "datapath/frame/trailer_write.hpp"
#include "datapath/memory.hpp"
#include "datapath/ports/port.hpp"
#include "headroom/forward.hpp"
#include "headroom/outlet.hpp"

namespace dpubench::headroom {
namespace {

using datapath::Port;

/// Packets of a thread's pool: more than the rings of all kinds of port hold, so that a full ring and not an empty pool is what a
/// saturated device shows.
constexpr std::uint32_t kPoolPackets = 8191;

/// The registration of a thread with the EAL. It gives the thread its own cache in every pool of packets.
class KnownThread {
 public:
  KnownThread() : known_(rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0) {}
  ~KnownThread() {
    if (known_) rte_thread_unregister();
  }
  KnownThread(const KnownThread&) = delete;
  KnownThread& operator=(const KnownThread&) = delete;

 private:
  bool known_;
};

class PortOutlet final : public Outlet {
 public:
  PortOutlet(Port& port, rte_mempool* pool, unsigned thread, const HeadroomJob& job)
      : port_(port), pool_(pool), thread_(thread), mac_(job.destination_mac) {}
  PortOutlet(const PortOutlet&) = delete;
  PortOutlet& operator=(const PortOutlet&) = delete;
  ~PortOutlet() override { give_back(); }

  void prepare(const TrialSpec& spec) override {
    if (size_ != spec.size) fill_pool(spec.size);
    size_ = spec.size;
    trial_ = spec.number;
    reuse_ = spec.reuse;
    number_ = 0;
    uses_left_ = 0;
    check_one();
  }

  std::uint32_t send(std::uint32_t n) noexcept override {
    if (waiting_ < n) build(n - waiting_);
    const std::uint32_t taken =
        port_.transmit(static_cast<std::uint16_t>(thread_), packets_.data(), static_cast<std::uint16_t>(waiting_));
    if (taken < waiting_) std::move(packets_.begin() + taken, packets_.begin() + waiting_, packets_.begin());
    waiting_ -= taken;
    return taken;
  }

  std::string finish() override {
    give_back();
    return {};
  }

 private:
  /// Write the packet into every buffer of the pool, so that building one in a trial only writes its number.
  void fill_pool(std::uint32_t size) {
    struct Filling {
      std::vector<std::byte> packet;
    } filling{make_packet(size, mac_, thread_)};
    rte_mempool_obj_iter(
        pool_,
        [](rte_mempool*, void* given, void* object, unsigned) {
          const auto& packet = static_cast<Filling*>(given)->packet;
          auto* const mbuf = static_cast<rte_mbuf*>(object);
          std::memcpy(static_cast<char*>(mbuf->buf_addr) + RTE_PKTMBUF_HEADROOM, packet.data(), packet.size());
        },
        &filling);
  }

  /// Build `n` packets behind those that wait; fewer where the pool has no buffer left, which the device still holds.
  void build(std::uint32_t n) noexcept {
    if (reuse_ == 1) {
      if (rte_pktmbuf_alloc_bulk(pool_, packets_.data() + waiting_, n) != 0) return;
      for (std::uint32_t i = 0; i < n; ++i) number(packets_[waiting_ + i]);
      waiting_ += n;
      return;
    }
    for (; n > 0; --n) {
      if (uses_left_ == 0) {
        rte_mbuf* const fresh = rte_pktmbuf_alloc(pool_);
        if (fresh == nullptr) return;
        number(fresh);
        rte_mbuf_refcnt_set(fresh, static_cast<std::uint16_t>(reuse_));
        current_ = fresh;
        uses_left_ = reuse_;
      }
      packets_[waiting_++] = current_;
      --uses_left_;
    }
  }

  void number(rte_mbuf* packet) noexcept {
    packet->data_len = static_cast<std::uint16_t>(size_);
    packet->pkt_len = size_;
    datapath::write_trailer_at(rte_pktmbuf_mtod_offset(packet, std::byte*, size_), true,
                               {.trial = static_cast<std::uint16_t>(trial_), .number = number_++, .due_ns = 0, .frame = thread_});
  }

  /// Check that a packet of this trial is what a sink takes for one. @throws Error
  void check_one() {
    Tally tally;
    build(1);
    if (waiting_ == 1) count(tally, {rte_pktmbuf_mtod(packets_[0], const std::byte*), size_}, trial_);
    give_back();
    number_ = 0;
    if (tally.packets != 1) throw Error("a packet of " + std::to_string(size_) + " bytes was not built right");
  }

  void give_back() noexcept {
    if (waiting_ > 0) rte_pktmbuf_free_bulk(packets_.data(), waiting_);
    waiting_ = 0;
    for (; uses_left_ > 0; --uses_left_) rte_pktmbuf_free(current_);
  }

  Port& port_;
  rte_mempool* pool_;
  unsigned thread_;
  std::string mac_;
  KnownThread known_;
  std::array<rte_mbuf*, kMaxBurst> packets_{};
  std::uint32_t waiting_ = 0;
  rte_mbuf* current_ = nullptr;
  std::uint32_t uses_left_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t trial_ = 0;
  std::uint32_t reuse_ = 1;
  std::uint64_t number_ = 0;
};

class PortInlet final : public Inlet {
 public:
  PortInlet(Port& port, std::uint32_t queues) : port_(port), queues_(queues) {}

  std::uint32_t take(Tally& tally, std::uint32_t trial) noexcept override {
    std::uint32_t all = 0;
    std::array<rte_mbuf*, kMaxBurst> packets;
    for (std::uint32_t queue = 0; queue < queues_; ++queue) {
      const std::uint16_t n = port_.receive(static_cast<std::uint16_t>(queue), packets.data(), kMaxBurst);
      for (std::uint16_t i = 0; i < n; ++i) {
        // A frame in several segments is none of ours: the pool's buffers hold the largest packet.
        count(tally, {rte_pktmbuf_mtod(packets[i], const std::byte*), packets[i]->data_len}, trial);
      }
      if (n > 0) rte_pktmbuf_free_bulk(packets.data(), n);
      all += n;
    }
    return all;
  }

 private:
  Port& port_;
  KnownThread known_;
  std::uint32_t queues_;
};

/// Return the longest frame of a job, with FCS. @throws Error when a port takes none of that length
std::uint32_t frame_of(const HeadroomJob& job, const BackendSpec& backend) {
  const std::uint32_t frame = std::max(datapath::kMinFrame, job.max_packet + datapath::kFcsBytes);
  if (frame > datapath::kMaxFrame) {
    throw Error("port " + backend.port.kind + ": packets of " + std::to_string(job.max_packet) + " bytes: a port takes " +
                std::to_string(datapath::kMaxFrame - datapath::kFcsBytes) + " at most");
  }
  return frame;
}

class PortLink final : public Link {
 public:
  explicit PortLink(const HeadroomJob& job) : job_(job) {
    const std::uint32_t frame = frame_of(job, job.backend);
    static unsigned serial = 0;
    const std::string name = "headroom" + std::to_string(serial++);
    if (job.part == Part::kSender) {
      for (std::uint32_t i = 0; i < job.threads; ++i) {
        pools_.push_back(datapath::make_pool(name + "-" + std::to_string(i), kPoolPackets, frame));
      }
    }
    rte_mempool* const received = datapath::make_pool(name + "-in", kPoolPackets, frame);
    port_ = datapath::open_port(job.backend.port, {received, static_cast<std::uint16_t>(job.threads), frame});
  }

  [[nodiscard]] std::unique_ptr<Outlet> open_outlet(unsigned thread) override {
    return std::make_unique<PortOutlet>(*port_, pools_.at(thread), thread, job_);
  }
  [[nodiscard]] std::unique_ptr<Inlet> open_inlet() override { return std::make_unique<PortInlet>(*port_, job_.threads); }
  [[nodiscard]] bool is_up() const override { return port_->is_up(); }
  [[nodiscard]] nlohmann::json described() const override {
    const datapath::PortInfo& info = port_->info();
    return {{"kind", info.kind}, {"driver", info.driver}, {"detail", info.detail}, {"mtu", info.mtu_frame}};
  }

 private:
  HeadroomJob job_;
  std::vector<rte_mempool*> pools_;
  std::unique_ptr<Port> port_;
};

class PortGate final : public Gate {
 public:
  PortGate(Port& in, Port& out) : in_(in), out_(out) {}

  Passed pass(std::uint32_t queue, std::uint32_t most, Tally* tally, std::uint32_t trial) noexcept override {
    std::array<rte_mbuf*, kMaxBurst> packets;
    const auto number = static_cast<std::uint16_t>(queue);
    const std::uint16_t n = in_.receive(number, packets.data(), static_cast<std::uint16_t>(most));
    if (n == 0) return {};
    Passed passed{.received = n};
    for (std::uint16_t i = 0; i < n; ++i) passed.bytes += packets[i]->pkt_len;
    if (tally != nullptr) {
      for (std::uint16_t i = 0; i < n; ++i) {
        count(*tally, {rte_pktmbuf_mtod(packets[i], const std::byte*), packets[i]->data_len}, trial);
      }
    }
    passed.forwarded = out_.transmit(number, packets.data(), n);
    if (passed.forwarded < n) rte_pktmbuf_free_bulk(packets.data() + passed.forwarded, n - passed.forwarded);
    return passed;
  }

 private:
  Port& in_;
  Port& out_;
  KnownThread known_;
};

class PortPassage final : public Passage {
 public:
  explicit PortPassage(const HeadroomJob& job) {
    const std::uint32_t frame = frame_of(job, job.backend);
    static unsigned serial = 0;
    const std::string name = "passage" + std::to_string(serial++);
    const auto queues = static_cast<std::uint16_t>(job.threads);
    in_ = datapath::open_port(job.backend.port, {datapath::make_pool(name + "-in", kPoolPackets, frame), queues, frame});
    out_ = datapath::open_port(job.out.port, {datapath::make_pool(name + "-out", kPoolPackets, frame), queues, frame});
  }

  [[nodiscard]] std::unique_ptr<Gate> open_gate() override { return std::make_unique<PortGate>(*in_, *out_); }
  [[nodiscard]] bool is_up() const override { return out_->is_up(); }
  [[nodiscard]] nlohmann::json described() const override {
    const datapath::PortInfo& in = in_->info();
    const datapath::PortInfo& out = out_->info();
    return {{"kind", in.kind},
            {"driver", in.driver},
            {"detail", "from " + in.detail + " to " + out.detail},
            {"mtu", std::min(in.mtu_frame, out.mtu_frame)}};
  }

 private:
  std::unique_ptr<Port> in_;
  std::unique_ptr<Port> out_;
};

}  // namespace

std::unique_ptr<Passage> open_port_passage(const HeadroomJob& job) {
  return std::make_unique<PortPassage>(job);
}

std::unique_ptr<Link> open_port_link(const HeadroomJob& job) {
  return std::make_unique<PortLink>(job);
}

}  // namespace dpubench::headroom
