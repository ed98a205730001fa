// Starts DPDK's EAL and makes the packet-buffer pools of dpubench-server and dpubench-traffic.
#pragma once

#include <rte_mempool.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dpubench::datapath {

/// The memory that holds packet buffers.
struct MemorySpec {
  bool huge_pages = false;
  std::uint32_t mb = 512;
};

/// Start the EAL. Call this once, before anything else of DPDK is used; engines of device APIs then find the EAL started. The
/// EAL also probes the devices named with name_devices(). It leaves no file behind. @param devices  further PCI devices: those
/// of the ports @throws Error, with the remedy (no huge pages, no right)
void start_eal(const MemorySpec& memory, const std::vector<std::string>& devices = {});

/// Return the bytes that a pool's buffer has behind its headroom, for frames of up to `max_frame` bytes (with FCS).
std::uint32_t frame_room(std::uint32_t max_frame);

/// Return the least power of two that holds a buffer of `bytes`, or 0 if a page is too small for it. With this size no buffer
/// crosses a page boundary and all lie side by side. AF_XDP's driver expects such a pool (net_af_xdp, xdp_umem_configure), and
/// the kernel refuses buffers behind the memory that it was told of. A page of 4 KiB holds one buffer of an ordinary frame. A
/// page of 64 KiB, as BlueField's kernels have, holds sixteen.
std::uint32_t share_of_page(std::uint32_t bytes, std::uint32_t page);

/// Make a pool of packet buffers for frames of up to `max_frame` bytes (with FCS), each in one segment. The pool lives until
/// the process ends. @throws Error when `max_frame` is above kMaxFrame, or the memory does not hold the pool
rte_mempool* make_pool(const std::string& name, std::uint32_t packets, std::uint32_t max_frame);

/// Make a pool as make_pool() does, of buffers that only a port takes which copies them: they have no room for what drivers and
/// other programs put into a received packet. Then two buffers of ordinary frames share a page of 4 KiB, where one of make_pool()
/// has a page of its own. A burst touches half as many pages, and its buffers do not all begin at the same place of a page:
/// writing and copying a frame of 1514 B took 34 ns instead of 36, and one of 60 B 7.0 instead of 8.6. @throws Error
rte_mempool* make_sending_pool(const std::string& name, std::uint32_t packets, std::uint32_t max_frame);

}  // namespace dpubench::datapath
