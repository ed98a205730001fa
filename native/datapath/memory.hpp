// DPDK's environment and the pools of packet buffers of the two programs.
#pragma once

#include <rte_mempool.h>

#include <cstdint>
#include <string>
#include <vector>

#include "datapath/job.hpp"

namespace dpubench::datapath {

/// Starts the EAL, once, before anything else of DPDK is used; engines of device APIs then find it started. Devices named with
/// name_devices() are probed with it. Leaves no file behind. @param devices further PCI devices: those of ports
/// @throws Error, with the remedy (no huge pages, no right)
void start_eal(const MemorySpec& memory, const std::vector<std::string>& devices = {});

/// Bytes of a pool's buffer, behind its headroom, for frames of up to `max_frame` bytes (with FCS).
std::uint32_t frame_room(std::uint32_t max_frame);

/// The least power of two that holds a buffer of `bytes`, so that none lies across two pages and all lie side by side. AF_XDP's
/// driver takes a pool for such (net_af_xdp, xdp_umem_configure), and the kernel would refuse buffers behind the memory that it
/// was told of. A page of 4 KiB holds one buffer of an ordinary frame, one of 64 KiB, as BlueField's kernels have them, sixteen.
/// 0: a page is too small
std::uint32_t share_of_page(std::uint32_t bytes, std::uint32_t page);

/// A pool of packet buffers for frames of up to `max_frame` bytes (with FCS), each in one segment. Lives until the process ends.
/// @throws Error when the memory does not hold it
rte_mempool* make_pool(const std::string& name, std::uint32_t packets, std::uint32_t max_frame);

}  // namespace dpubench::datapath
