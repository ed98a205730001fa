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

/// A pool of packet buffers for frames of up to `max_frame` bytes (with FCS), each in one segment. Lives until the process ends.
/// @throws Error when the memory does not hold it
rte_mempool* make_pool(const std::string& name, std::uint32_t packets, std::uint32_t max_frame);

}  // namespace dpubench::datapath
