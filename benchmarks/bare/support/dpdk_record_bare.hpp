// Records of the bare loops that divide packets with DPDK, in the form that support/segments.hpp describes. What a loop does is
// known when it is compiled: copies whose length is not would be calls.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstring>

#include "operators/support/dpdk_mbuf.hpp"
#include "timed_loop.hpp"

namespace dpubench::bare {

/// Most packets that an input becomes: 65,535 bytes at the MTUs that bare loops take.
using Made = std::array<rte_mbuf*, 256>;

/// Writes a packet of one header mbuf and one payload mbuf; returns where the next record goes.
template <bool Copy, std::uint32_t Headers>
std::byte* write_record(std::byte* out, const rte_mbuf* packet, const std::byte* in) noexcept {
  const auto* header = rte_pktmbuf_mtod(packet, const std::byte*);
  const auto* payload = rte_pktmbuf_mtod(packet->next, const std::byte*);
  const std::uint32_t length = packet->next->data_len;
  if constexpr (Copy) {
    std::memcpy(out, &packet->pkt_len, 4);
    std::memcpy(out + 4, header, Headers);
    std::memcpy(out + 4 + Headers, payload, length);
    return out + 4 + Headers + length;
  } else {
    const std::array<std::uint32_t, 3> descriptor{static_cast<std::uint32_t>(payload - in), length, Headers};
    std::memcpy(out, descriptor.data(), 12);
    std::memcpy(out + 12, header, Headers);
    return out + 12 + Headers;
  }
}

/// Finishes each packet that an item became with `finish(packet)` and writes it.
template <bool Copy, std::uint32_t Headers, class Finish>
void write_records(Burst& b, std::uint32_t i, Made& made, int n, const Finish& finish) noexcept {
  std::byte* out = b.out[i];
  for (int k = 0; k < n; ++k) {
    rte_mbuf* const packet = made[static_cast<std::size_t>(k)];
    finish(packet, k);
    out = write_record<Copy, Headers>(out, packet, b.in[i]);
  }
  rte_pktmbuf_free_bulk(made.data(), static_cast<unsigned>(n));
  b.out_len[i] = static_cast<std::uint32_t>(out - b.out[i]);
  b.result[i] = static_cast<std::uint64_t>(n);
  b.status[i] = kStatusOk;
}

/// A session of kernels that divide packets: `Kernel(pools, mtu)`, one per thread.
template <class Kernel>
std::unique_ptr<Session> dividing_session(const Work& work) {
  const auto make = [shared = dpdk::pools(), mtu = static_cast<std::uint16_t>(work.params.number("mtu"))] {
    dpdk::become_lcore();
    return Kernel(shared, mtu);
  };
  return timed_session(make, {});
}

}  // namespace dpubench::bare
