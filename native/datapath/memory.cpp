#include "datapath/memory.hpp"

#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <limits>

#include "operators/support/dpdk.hpp"

namespace dpubench::datapath {

void start_eal(const MemorySpec& memory, const std::vector<std::string>& devices) {
  dpdk::EalOptions options;
  options.huge_pages = memory.huge_pages;
  options.memory_mb = memory.mb;
  options.shared_memory = true;
  options.devices = devices;
  dpdk::start_eal(options);
}

rte_mempool* make_pool(const std::string& name, std::uint32_t packets, std::uint32_t max_frame) {
  // Loops take and give bursts of at most kMaxPacketBurst; a cache holds one and a half times its size, and the pool all caches.
  constexpr std::uint32_t kCache = std::min<std::uint32_t>(kMaxPacketBurst, RTE_MEMPOOL_CACHE_MAX_SIZE);
  // Network cards round a buffer's room down to a multiple of 1 KiB, hence the room up to one; the kernel's rings copy their own
  // header of a frame as well, and XDP keeps room before it (XDP_PACKET_HEADROOM of linux/bpf.h).
  constexpr std::uint32_t kRound = 1024;
  constexpr std::uint32_t kKernelHeader = 256;
  const std::uint32_t frame = std::max<std::uint32_t>(max_frame, RTE_ETHER_MAX_LEN) + kKernelHeader;
  const std::uint32_t frame_room = (frame + kRound - 1) / kRound * kRound;
  const std::uint32_t room = RTE_PKTMBUF_HEADROOM + frame_room;
  if (max_frame > kMaxFrame || room > std::numeric_limits<std::uint16_t>::max()) {
    throw Error("a pool of packets of " + std::to_string(max_frame) + " bytes: at most " + std::to_string(kMaxFrame));
  }
  const std::uint32_t cache = packets >= 4 * kCache ? kCache : 0;
  rte_mempool* const pool =
      rte_pktmbuf_pool_create(name.c_str(), packets, cache, 0, static_cast<std::uint16_t>(room), SOCKET_ID_ANY);
  if (pool == nullptr) {
    throw Error("a pool of " + std::to_string(packets) + " packets of " + std::to_string(max_frame) + " bytes (" +
                std::to_string((static_cast<std::uint64_t>(packets) * (room + sizeof(rte_mbuf)) >> 20) + 1) +
                " MiB): " + rte_strerror(rte_errno) + "; give the job more memory (memory.mb)");
  }
  return pool;
}

}  // namespace dpubench::datapath
