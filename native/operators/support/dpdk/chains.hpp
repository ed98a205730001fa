// The common part of the engines whose packets are chains of mbufs, as a DPDK data plane hands them to a driver: a header mbuf,
// and an mbuf that points at the payload in the input (variant=mbuf of ip_fragment and tcp_segment).
//
// A lane leaves the pointers to an item's packets in its `out`. After a window, settle() reads the chains and writes the records
// that they stand for in this place (support/division/segments.hpp). The timed loop gives a chain back after as many further
// packets as the buffers hold, in the order in which the chains were made. A driver does the same with packets that it has sent.
#pragma once

#include <rte_errno.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operators/engine.hpp"
#include "operators/support/division/segments.hpp"
#include "operators/support/dpdk/dpdk.hpp"
#include "operators/support/dpdk/mbuf.hpp"

namespace dpubench::dpdk {

/// The most packets that an item becomes: 65,535 bytes at an MTU of 576.
inline constexpr std::uint32_t kMostPackets = 128;
inline constexpr std::size_t kPointerBytes = sizeof(std::uintptr_t);

/// Return the most packets that all buffers in `memory` bytes become. @param header  bytes of the shortest header of a packet
inline std::size_t packets_in(const Work& work, std::size_t memory, std::size_t header) {
  std::size_t bytes = 0;
  std::size_t packets = 0;
  for (const Item& item : work.items) {
    bytes += item.in.size() + item.aux.size() + item.out_room;
    packets += 1 + item.out_room / (segments::kDescriptorBytes + header);
  }
  return (memory / bytes + 1) * packets;
}

/// A pool of mbufs for one thread.
class Pool {
 public:
  Pool(const std::string& name, std::size_t count, std::uint16_t room)
      : pool_(rte_pktmbuf_pool_create(name.c_str(), static_cast<unsigned>(count), kCache, 0, room, SOCKET_ID_ANY)) {
    require(pool_ != nullptr, "rte_pktmbuf_pool_create of " + std::to_string(count) + " mbufs");
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { rte_mempool_free(pool_); }
  [[nodiscard]] rte_mempool* get() const { return pool_; }
  static constexpr unsigned kCache = 256;

 private:
  rte_mempool* pool_;
};

/// The mbufs of a thread: its pools, the packets that were handed out, and an mbuf that stands for the input.
class Chains {
 public:
  /// @param packets  the most packets that exist at once
  explicit Chains(std::size_t packets)
      : direct_("headers-" + own_name(this), spare(packets), kHeaderRoom),
        indirect_("payload-" + own_name(this), spare(packets), 0),
        carrier_(rte_pktmbuf_alloc(direct_.get())),
        shared_(std::make_unique<rte_mbuf_ext_shared_info>()),
        kept_(packets) {
    require(carrier_ != nullptr, "rte_pktmbuf_alloc");
    // The buffers belong to the harness. More than 65,535 mbufs may point into them at once, which the counter cannot hold, but
    // nothing depends on it.
    shared_->free_cb = [](void*, void*) {};
    shared_->fcb_opaque = nullptr;
    rte_mbuf_ext_refcnt_set(shared_.get(), 1);
  }
  Chains(const Chains&) = delete;
  Chains& operator=(const Chains&) = delete;
  ~Chains() {
    rte_pktmbuf_free_bulk(kept_.data(), static_cast<unsigned>(kept_.size()));
    rte_pktmbuf_free(carrier_);
  }

  [[nodiscard]] rte_mempool* direct() const { return direct_.get(); }
  [[nodiscard]] rte_mempool* indirect() const { return indirect_.get(); }

  /// Return an mbuf whose data is a packet of the caller. Received packets already lie in mbufs, so pointing this one at the next
  /// packet stands for taking the next mbuf from a receive burst. @param length  at most 65535 @param flags  RTE_MBUF_F_* besides
  /// RTE_MBUF_F_EXTERNAL
  rte_mbuf* hold(const std::byte* packet, std::uint32_t length, std::uint64_t flags) noexcept {
    // The libraries read the packet, and write only to their copies of its header.
    carrier_->buf_addr = const_cast<std::byte*>(packet);
    carrier_->buf_len = static_cast<std::uint16_t>(length);
    carrier_->data_off = 0;
    carrier_->data_len = static_cast<std::uint16_t>(length);
    carrier_->pkt_len = length;
    carrier_->shinfo = shared_.get();
    carrier_->ol_flags = flags | RTE_MBUF_F_EXTERNAL;
    return carrier_;
  }

  /// Keep packets that were handed out, and give as many of the oldest back.
  void keep(rte_mbuf* const* made, std::uint32_t count) noexcept {
    std::array<rte_mbuf*, kMostPackets> oldest;
    for (std::uint32_t k = 0; k < count; ++k) {
      oldest[k] = std::exchange(kept_[next_], made[k]);
      next_ = next_ + 1 == kept_.size() ? 0 : next_ + 1;
    }
    rte_pktmbuf_free_bulk(oldest.data(), count);
  }

  /// Make a packet of `header` bytes, which the caller writes, and a part of `whole`. @returns nullptr when the pools are empty
  [[nodiscard]] rte_mbuf* make(rte_mbuf* whole, std::size_t header, std::size_t offset, std::size_t payload) const noexcept {
    rte_mbuf* const packet = rte_pktmbuf_alloc(direct_.get());
    rte_mbuf* const rest = packet == nullptr ? nullptr : rte_pktmbuf_alloc(indirect_.get());
    if (rest == nullptr) {
      rte_pktmbuf_free(packet);
      return nullptr;
    }
    rte_pktmbuf_attach(rest, whole);
    rest->data_off = static_cast<std::uint16_t>(offset);
    rest->data_len = static_cast<std::uint16_t>(payload);
    rest->pkt_len = rest->data_len;
    packet->data_len = static_cast<std::uint16_t>(header);
    packet->pkt_len = static_cast<std::uint32_t>(header + payload);
    packet->nb_segs = 2;
    packet->next = rest;
    return packet;
  }

 private:
  static constexpr std::uint16_t kHeaderRoom = RTE_PKTMBUF_HEADROOM + 128;
  /// Return a name for a pool. Names are unique in the process, and each module has its own counters, but an address belongs to
  /// only one object.
  static std::string own_name(const void* object) { return std::to_string(reinterpret_cast<std::uintptr_t>(object)); }
  /// Return the mbufs of a pool. New packets of an item are made before its old ones are given back, and the carrier and the
  /// pool's cache hold some more.
  static std::size_t spare(std::size_t packets) { return packets + kMostPackets + 2 * std::size_t{Pool::kCache}; }

  Pool direct_;
  Pool indirect_;
  rte_mbuf* carrier_;
  std::unique_ptr<rte_mbuf_ext_shared_info> shared_;
  std::vector<rte_mbuf*> kept_;  ///< a ring; the oldest is at next_
  std::size_t next_ = 0;
};

/// Return the place of an item's packets while it is not settled.
inline rte_mbuf** chains_of(const Burst& b, std::uint32_t i) {
  return reinterpret_cast<rte_mbuf**>(b.out[i]);
}

/// Record that an item became `packets` chains; 0: it was rejected.
inline void hand_out(Burst& b, std::uint32_t i, std::uint32_t packets) noexcept {
  b.status[i] = packets != 0 ? kStatusOk : kStatusRejected;
  b.result[i] = packets;
  b.out_len[i] = static_cast<std::uint32_t>(packets * kPointerBytes);
}

/// Write the records that the chains of a burst stand for.
inline void settle_chains(Burst& b) noexcept {
  for (std::uint32_t i = 0; i < b.n; ++i) {
    if (b.status[i] != kStatusOk) continue;
    std::array<const rte_mbuf*, kMostPackets> packets;
    std::copy_n(chains_of(b, i), b.result[i], packets.begin());
    std::byte* out = b.out[i];
    for (std::uint32_t k = 0; k < b.result[i]; ++k) {
      const rte_mbuf* const packet = packets[k];
      const rte_mbuf* const rest = packet->next;
      const std::size_t offset =
          rest == nullptr ? 0 : static_cast<std::size_t>(rte_pktmbuf_mtod(rest, const std::byte*) - b.in[i]);
      out = segments::begin_record<segments::Variant::kZeroCopy>(out, packet->data_len, offset,
                                                                 rest == nullptr ? 0 : rest->data_len);
      std::memcpy(out, rte_pktmbuf_mtod(packet, const std::byte*), packet->data_len);
      out += packet->data_len;
    }
    b.out_len[i] = static_cast<std::uint32_t>(out - b.out[i]);
  }
}

/// A lane whose kernel divides an item into chains. It uses `Kernel::layout(in, length)`; `Kernel::divide(chains, layout, burst,
/// item, made)`, which returns the number of chains; and `Kernel::kHeader`, the bytes of a packet's shortest header.
template <class Kernel>
class ChainLane final : public Lane {
 public:
  ChainLane(Kernel kernel, const Work& work) : kernel_(std::move(kernel)), work_(work) {}

  void attach(std::span<std::byte> memory) override {
    require_eal();
    become_lcore();
    chains_ = std::make_unique<Chains>(packets_in(work_, memory.size(), Kernel::kHeader));
  }

  bool submit(Burst& b) noexcept override {
    if (done_ != nullptr) return false;
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const segments::Layout l = kernel_.layout(b.in[i], b.in_len[i]);
      const bool fits =
          l.packets != 0 && l.packets <= kMostPackets && segments::record_bytes(segments::Variant::kZeroCopy, l) <= b.out_room[i];
      const std::uint32_t made = fits ? kernel_.divide(*chains_, l, b, i, chains_of(b, i)) : 0;
      chains_->keep(chains_of(b, i), made);
      hand_out(b, i, made);
    }
    done_ = &b;
    return true;
  }

  std::uint32_t poll(std::span<Burst*> done) noexcept override {
    if (done_ == nullptr || done.empty()) return 0;
    done[0] = std::exchange(done_, nullptr);
    return 1;
  }

  void settle(Burst& b) noexcept override { settle_chains(b); }

 private:
  Kernel kernel_;
  const Work& work_;
  std::unique_ptr<Chains> chains_;
  Burst* done_ = nullptr;
};

/// A session of kernels that divide packets.
template <class Kernel>
class ChainSession final : public Session {
 public:
  ChainSession(const Work& work, PathInfo path) : work_(work), path_(std::move(path)) {}
  std::unique_ptr<Lane> open() override {
    return std::make_unique<ChainLane<Kernel>>(Kernel{static_cast<std::uint16_t>(work_.params.number("mtu"))}, work_);
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  const Work& work_;
  PathInfo path_;
};

}  // namespace dpubench::dpdk
