#include "datapath/memory.hpp"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "base/burst.hpp"
#include "datapath/frame/size.hpp"
#include "operators/support/dpdk/dpdk.hpp"

namespace dpubench::datapath {

void start_eal(const MemorySpec& memory, const std::vector<std::string>& devices) {
  dpdk::EalOptions options;
  options.huge_pages = memory.huge_pages;
  options.memory_mb = memory.mb;
  options.shared_memory = true;
  options.devices = devices;
  dpdk::start_eal(options);
}

namespace {

constexpr std::uint32_t kDense = RTE_MEMPOOL_F_NO_SPREAD;

/// Return the bytes that a pool adds to each element: its own header and trailer.
std::uint32_t header_bytes() {
  rte_mempool_objsz sizes{};
  rte_mempool_calc_obj_size(RTE_MEMPOOL_ALIGN, kDense, &sizes);
  return sizes.header_size + sizes.trailer_size;
}

/// Return the distance in bytes from one buffer to the next. Without huge pages it is a share of a page, because no buffer may
/// cross a page boundary. 0 means that buffers are as large as they are.
std::uint32_t filled_share(std::uint32_t room) {
  if (rte_eal_has_hugepages() != 0) return 0;
  const std::uint32_t bytes = header_bytes() + static_cast<std::uint32_t>(sizeof(rte_mbuf)) + room;
  return share_of_page(bytes, static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE)));
}

/// Make a pool as rte_pktmbuf_pool_create() does, with elements of exactly `bytes`, headers included. @return null on failure;
/// rte_errno has the reason
rte_mempool* make_filled(const std::string& name, std::uint32_t packets, std::uint32_t cache, std::uint32_t bytes,
                         std::uint32_t room) {
  const std::uint32_t element = bytes - header_bytes();
  rte_mempool* const pool =
      rte_mempool_create_empty(name.c_str(), packets, element, cache, sizeof(rte_pktmbuf_pool_private), SOCKET_ID_ANY, kDense);
  if (pool == nullptr) return nullptr;
  rte_pktmbuf_pool_private kind{};
  // The room that was asked for, not the room that the page has: net_memif of DPDK later than 22.11 compares it with its own
  // buffers.
  kind.mbuf_data_room_size = static_cast<std::uint16_t>(room);
  const int failed = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr);
  if (failed == 0) rte_pktmbuf_pool_init(pool, &kind);
  const int populated = failed == 0 ? rte_mempool_populate_default(pool) : failed;
  if (populated < 0) {
    rte_mempool_free(pool);
    rte_errno = -populated;
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return pool;
}

}  // namespace

std::uint32_t share_of_page(std::uint32_t bytes, std::uint32_t page) {
  const std::uint32_t share = std::bit_ceil(bytes);
  return share <= page ? share : 0;
}

std::uint32_t frame_room(std::uint32_t max_frame) {
  // Network cards round a buffer's room down to a multiple of 1 KiB, so the room is rounded up to one. The kernel's rings also
  // copy their own header of a frame, and XDP keeps room before the frame (XDP_PACKET_HEADROOM of linux/bpf.h).
  constexpr std::uint32_t kRound = 1024;
  constexpr std::uint32_t kKernelHeader = 256;
  const std::uint32_t frame = std::max<std::uint32_t>(max_frame, RTE_ETHER_MAX_LEN) + kKernelHeader;
  return (frame + kRound - 1) / kRound * kRound;
}

namespace {

/// Make a pool of buffers with `frame` bytes behind their headroom. @throws Error
rte_mempool* make_with_room(const std::string& name, std::uint32_t packets, std::uint32_t max_frame, std::uint32_t frame) {
  // Loops take and give bursts of at most kMaxBurst. A cache holds up to one and a half times its size, and the pool must
  // hold all caches.
  constexpr std::uint32_t kCache = std::min<std::uint32_t>(kMaxBurst, RTE_MEMPOOL_CACHE_MAX_SIZE);
  const std::uint32_t room = RTE_PKTMBUF_HEADROOM + frame;
  if (max_frame > kMaxFrame || room > std::numeric_limits<std::uint16_t>::max()) {
    throw Error("a packet of the pool has " + std::to_string(max_frame) + " bytes: give at most " + std::to_string(kMaxFrame));
  }
  const std::uint32_t cache = packets >= 4 * kCache ? kCache : 0;
  const std::uint32_t share = filled_share(room);
  rte_mempool* const pool =
      share != 0 ? make_filled(name, packets, cache, share, room)
                 : rte_pktmbuf_pool_create(name.c_str(), packets, cache, 0, static_cast<std::uint16_t>(room), SOCKET_ID_ANY);
  if (pool == nullptr) {
    throw Error("cannot make a pool of " + std::to_string(packets) + " packets of " + std::to_string(max_frame) + " bytes (" +
                std::to_string((static_cast<std::uint64_t>(packets) * (room + sizeof(rte_mbuf)) >> 20) + 1) +
                " MiB): " + rte_strerror(rte_errno) + "; give the job more memory (memory.mb)");
  }
  return pool;
}

}  // namespace

rte_mempool* make_pool(const std::string& name, std::uint32_t packets, std::uint32_t max_frame) {
  return make_with_room(name, packets, max_frame, frame_room(max_frame));
}

rte_mempool* make_sending_pool(const std::string& name, std::uint32_t packets, std::uint32_t max_frame) {
  const std::uint32_t frame = std::max<std::uint32_t>(max_frame, RTE_ETHER_MAX_LEN);
  return make_with_room(name, packets, max_frame, RTE_ALIGN_CEIL(frame, std::uint32_t{RTE_CACHE_LINE_SIZE}));
}

}  // namespace dpubench::datapath
