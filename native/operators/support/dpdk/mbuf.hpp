// Pools of mbufs, and per-thread caches, for DPDK engines.
#pragma once

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <thread>

#include "operators/support/dpdk/dpdk.hpp"

namespace dpubench::dpdk {

/// Give the calling thread an lcore number until it ends. Mempools keep a cache per lcore, and a thread without a number pays an
/// atomic ring operation for every mbuf, which no data plane does. If no number is left, the thread works without one, slower.
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

/// Return the pools that all engines and threads of the process share, as in a data plane; made on first use. @throws Error
inline Pools pools() {
  require_eal();
  constexpr unsigned kCache = 256;
  constexpr std::uint16_t kHeaderRoom = RTE_PKTMBUF_HEADROOM + 128;
  // Each thread's cache holds up to one and a half times kCache, and a packet of 64 KiB becomes at most 126 packets of 576 bytes.
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

}  // namespace dpubench::dpdk
