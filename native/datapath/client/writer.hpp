// Draws DPDK's packet buffers and fills them with the packets of a trial.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "datapath/client/headers.hpp"
#include "datapath/client/traffic.hpp"

namespace dpubench::datapath {

/// The writer of a trial's packets. With few templates each has a pool of its own, whose buffers hold it from the start; then
/// only the fields that differ from packet to packet are written. With more templates, a buffer remembers the template that it
/// holds, and the template is written only if it is another one.
class Writer {
 public:
  static constexpr std::size_t kMostPools = 24;

  /// @param anew  buffers may come back changed (ports that share them), so everything is written each time
  /// @param memory_mb  memory of the process, of which the pools take a third at most @throws Error when they do not fit
  Writer(const Traffic& traffic, bool anew, std::uint32_t memory_mb);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// Free the pools, except those of which a port still holds buffers.
  ~Writer();

  /// Begin a trial, on the thread that fills.
  void begin(std::uint32_t trial);
  /// Fill the next packets, in order. @param due_ns  of each @param packets, bytes  receive buffers and lengths with FCS
  /// @return how many were filled: fewer than `n` if the pool is empty; the next call goes on behind `n` in any case
  std::uint32_t fill(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept;
  /// Take back the numbers of the last `n` packets of fill(), which were not filled.
  void step_back(std::uint32_t n) noexcept;

 private:
  template <Patch kPatch, bool kPrepared>
  std::uint32_t fill_as(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept;
  template <bool kPrepared>
  std::uint32_t fill_with(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept;
  /// Draw buffers from the only pool, or (draw_each) from the templates' own pools. @return how many, up to the first packet
  /// without a buffer
  std::uint32_t draw(std::uint32_t n, rte_mbuf** packets) noexcept;
  std::uint32_t draw_each(std::uint32_t n, const PacketRef* refs, rte_mbuf** packets) noexcept;

  const Traffic& traffic_;
  Patch changes_;
  bool anew_;
  bool is_prepared_ = false;  ///< each template has a pool of its own, whose buffers hold it
  int held_ = -1;             ///< offset of the dynamic field that holds 1 + the template
  std::vector<rte_mempool*> pools_;
  /// Caches of this thread, by pool. Most buffers lie there, and taking them needs fewer steps than rte_mempool_get().
  std::vector<rte_mempool_cache*> caches_;
  rte_mempool_cache none_{};  ///< cache of a thread without one: always empty
  Cursor cursor_;
  std::array<PacketRef, kMaxPacketBurst> refs_;  ///< packets of the burst being filled
  headers::BurstFields fields_;                  ///< their fields
  std::uint16_t trial_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace dpubench::datapath
