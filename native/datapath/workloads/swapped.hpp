// What comes back from workloads that leave a packet as it is: the frame that was sent, its two MAC addresses swapped.
#pragma once

#include <rte_ether.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

#include "datapath/workloads/workload.hpp"

namespace dpubench::datapath {

/// Swaps the two addresses at the beginning of a frame that holds both.
inline void swap_addresses(std::byte* frame) noexcept {
  std::array<std::byte, 2 * RTE_ETHER_ADDR_LEN> addresses;
  std::memcpy(addresses.data(), frame, addresses.size());
  std::memcpy(frame, addresses.data() + RTE_ETHER_ADDR_LEN, RTE_ETHER_ADDR_LEN);
  std::memcpy(frame + RTE_ETHER_ADDR_LEN, addresses.data(), RTE_ETHER_ADDR_LEN);
}

std::unique_ptr<Expectation> expect_swapped();

}  // namespace dpubench::datapath
