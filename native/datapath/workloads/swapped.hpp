// The reply of workloads that leave a packet as it is: the frame that was sent, with its two MAC addresses swapped.
#pragma once

#include <rte_ether.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "datapath/workloads/workload.hpp"

namespace dpubench::datapath {

/// Swap the two addresses at the beginning of a frame, which must hold both. The swap is done in registers: reading just stored
/// bytes back in other widths stalls for a dozen cycles.
inline void swap_addresses(std::byte* frame) noexcept {
  static_assert(std::endian::native == std::endian::little);
  static_assert(2 * RTE_ETHER_ADDR_LEN == sizeof(std::uint64_t) + sizeof(std::uint32_t));
  std::uint64_t low;
  std::uint32_t high;
  std::memcpy(&low, frame, sizeof low);
  std::memcpy(&high, frame + sizeof low, sizeof high);
  const std::uint64_t swapped_low = low >> 48 | std::uint64_t{high} << 16 | low << 48;
  const auto swapped_high = static_cast<std::uint32_t>(low >> 16);
  std::memcpy(frame, &swapped_low, sizeof low);
  std::memcpy(frame + sizeof low, &swapped_high, sizeof high);
}

std::unique_ptr<Expectation> expect_swapped();

}  // namespace dpubench::datapath
