// Packets in DPDK's buffers: drawn, filled, and given back.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "datapath/client/headers.hpp"
#include "datapath/client/traffic.hpp"

namespace dpubench::datapath {

/// Fills buffers with the packets of a trial. With few templates each has a pool of its own, whose buffers hold it from the
/// start, and only what differs from packet to packet is written. With more a buffer remembers the template that it holds, which
/// is written where it is another one.
class Writer {
 public:
  static constexpr std::size_t kMostPools = 24;

  /// @param anew  buffers may come back changed (ports that share them): everything is written each time
  /// @param memory_mb  of the process, of which the pools take a third at most @throws Error when they do not fit
  Writer(const Traffic& traffic, bool anew, std::uint32_t memory_mb);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// Pools of which a port still holds buffers stay.
  ~Writer();

  /// Begins a trial, on the thread that fills.
  void begin(std::uint32_t trial);
  /// The next packets, in order. @param due_ns of each @param packets, bytes receive buffers and lengths with FCS
  /// @return how many were filled: fewer than `n` where the pool is empty; the next call goes on behind `n` all the same
  std::uint32_t fill(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept;
  /// Takes back the numbers of the last `n` packets of fill(), which were not filled.
  void step_back(std::uint32_t n) noexcept;

 private:
  template <Patch kPatch, bool kPrepared>
  std::uint32_t fill_as(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept;
  template <bool kPrepared>
  std::uint32_t fill_with(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept;
  /// Buffers from the only pool, and from the templates' own. @return how many, up to the first that there is none for
  std::uint32_t draw(std::uint32_t n, rte_mbuf** packets) noexcept;
  std::uint32_t draw_each(std::uint32_t n, const PacketRef* refs, rte_mbuf** packets) noexcept;

  const Traffic& traffic_;
  Patch changes_;
  bool anew_;
  bool is_prepared_ = false;  ///< each template has a pool of its own, whose buffers hold it
  int held_ = -1;             ///< offset of the dynamic field that holds 1 + the template
  std::vector<rte_mempool*> pools_;
  /// Of this thread, by pool: most buffers lie there, and are taken with fewer steps than rte_mempool_get() needs.
  std::vector<rte_mempool_cache*> caches_;
  rte_mempool_cache none_{};  ///< of a thread without one: always empty
  Cursor cursor_;
  std::array<PacketRef, kMaxPacketBurst> refs_;  ///< of the burst being filled
  headers::BurstFields fields_;                  ///<
  std::uint16_t trial_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace dpubench::datapath
