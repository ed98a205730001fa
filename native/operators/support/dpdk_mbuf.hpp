// What DPDK engines share that cut packets in mbufs: pools, per-thread caches, and an mbuf that stands for a buffer of the
// caller's.
#pragma once

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "operators/engine.hpp"
#include "operators/support/dpdk.hpp"
#include "operators/support/segments.hpp"

namespace dpubench::dpdk {

/// Gives the calling thread an lcore number until it ends: mempools keep a cache per lcore, and a thread without one pays an
/// atomic ring operation for every mbuf, which no data plane does. Where no number is left the thread works without, slower.
inline void become_lcore() {
  struct Registration {
    bool mine = rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0;
    Registration() = default;
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() {
      if (mine) rte_thread_unregister();
    }
  };
  static thread_local const Registration registration;
  static_cast<void>(registration);
}

struct Pools {
  rte_mempool* direct = nullptr;    ///< mbufs with room for headers
  rte_mempool* indirect = nullptr;  ///< mbufs that point into others
};

/// Pools shared by all engines and threads of the process, as a data plane has them; made on first use. @throws Error
inline Pools pools() {
  require_eal();
  constexpr unsigned kCache = 256;
  constexpr std::uint16_t kHeaderRoom = RTE_PKTMBUF_HEADROOM + 128;
  // Each thread's cache holds up to one and a half times kCache, and a packet of 64 KiB becomes at most 126 of 576 bytes.
  const unsigned threads = std::max(16U, 2 * std::thread::hardware_concurrency());
  const unsigned count = std::bit_ceil(threads * 2 * kCache) - 1;
  const auto pool = [&](const char* name, std::uint16_t room) {
    rte_mempool* found = rte_mempool_lookup(name);
    if (found == nullptr) found = rte_pktmbuf_pool_create(name, count, kCache, 0, room, SOCKET_ID_ANY);
    require(found != nullptr, std::string("rte_pktmbuf_pool_create ") + name);
    return found;
  };
  return {pool("dpubench-direct", kHeaderRoom), pool("dpubench-indirect", 0)};
}

/// An mbuf whose data is a packet of the caller's: received packets lie in mbufs already, so pointing it at the next one stands
/// for taking the next mbuf from a receive burst.
class Carrier {
 public:
  explicit Carrier(rte_mempool* pool) : mbuf_(rte_pktmbuf_alloc(pool)), shared_(std::make_unique<rte_mbuf_ext_shared_info>()) {
    require(mbuf_ != nullptr, "rte_pktmbuf_alloc");
    shared_->free_cb = [](void*, void*) {};
    shared_->fcb_opaque = nullptr;
    rte_mbuf_ext_refcnt_set(shared_.get(), 1);
  }
  Carrier(Carrier&& other) noexcept : mbuf_(std::exchange(other.mbuf_, nullptr)), shared_(std::move(other.shared_)) {}
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  Carrier& operator=(Carrier&&) = delete;
  ~Carrier() { rte_pktmbuf_free(mbuf_); }

  /// @param length  at most 65535 @param flags  RTE_MBUF_F_* besides RTE_MBUF_F_EXTERNAL
  rte_mbuf* hold(const std::byte* packet, std::uint32_t length, std::uint64_t flags) noexcept {
    // The libraries read the packet and write their copies of its header only.
    mbuf_->buf_addr = const_cast<std::byte*>(packet);
    mbuf_->buf_len = static_cast<std::uint16_t>(length);
    mbuf_->data_off = 0;
    mbuf_->data_len = static_cast<std::uint16_t>(length);
    mbuf_->pkt_len = length;
    mbuf_->shinfo = shared_.get();
    mbuf_->ol_flags = flags | RTE_MBUF_F_EXTERNAL;
    return mbuf_;
  }

 private:
  rte_mbuf* mbuf_;
  std::unique_ptr<rte_mbuf_ext_shared_info> shared_;
};

/// Writes a packet of a header mbuf and payload mbufs as a record (support/segments.hpp).
/// @tparam Header  bytes of every header where that is known when this is compiled (a copy of other lengths is a call), else 0
/// @param input  where the payload lies
template <segments::Variant V, std::size_t Header = 0>
inline std::byte* write_record(std::byte* out, const rte_mbuf* packet, const std::byte* input) noexcept {
  const auto data = [](const rte_mbuf* m) { return rte_pktmbuf_mtod(m, const std::byte*); };
  const rte_mbuf* const next = packet->next;
  const std::byte* const payload = next == nullptr ? input : data(next);
  const std::size_t length = next == nullptr ? 0 : next->data_len;  // a Carrier is one buffer, so there is one piece
  const std::size_t header = Header != 0 ? Header : packet->data_len;
  std::byte* const at = segments::begin_record<V>(out, header, static_cast<std::size_t>(payload - input), length);
  std::memcpy(at, data(packet), header);
  return segments::end_record<V>(at + header, payload, length);
}

/// A session of kernels that divide packets: `Kernel(pools, mtu)`, one per thread.
template <class Kernel>
std::unique_ptr<Session> dividing_session(const Work& work, PathInfo path) {
  return kernel_session(
      [shared = pools(), mtu = static_cast<std::uint16_t>(work.params.number("mtu"))] {
        become_lcore();
        return Kernel(shared, mtu);
      },
      std::move(path));
}

}  // namespace dpubench::dpdk
