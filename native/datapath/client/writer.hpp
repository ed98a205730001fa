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

/// Fills buffers with the packets of a trial. A buffer remembers the template that it holds, which is written where it is another
/// one. With few templates buffers are kept sorted by what they hold, and only what differs from packet to packet is written.
///
/// All come from one pool: drivers may give a burst of one pool back at once, and net_memif of DPDK later than 22.11 sends it
/// faster.
class Writer {
 public:
  static constexpr std::size_t kMostSorted = 24;

  /// @param anew  buffers may come back changed (ports that share them): everything is written each time
  /// @throws Error when the pool does not fit the memory
  Writer(const Traffic& traffic, bool anew);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// A pool of which a port still holds buffers stays.
  ~Writer();

  /// Begins a trial, on the thread that fills.
  void begin(std::uint32_t trial);
  /// The next packets, in order. @param due_ns of each @param packets, bytes receive buffers and lengths with FCS
  /// @return how many were filled: fewer than `n` where the pool is empty; the next call goes on behind `n` all the same
  std::uint32_t fill(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept;
  /// Takes back the numbers of the last `n` packets of fill(), which were not filled.
  void step_back(std::uint32_t n) noexcept;

 private:
  /// Buffers at hand that hold one template.
  struct Shelf {
    static constexpr std::uint32_t kMost = 64;
    std::uint32_t count = 0;
    std::array<rte_mbuf*, kMost> packets;
  };

  template <Patch kPatch, bool kSorted>
  std::uint32_t fill_as(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept;
  template <bool kSorted>
  std::uint32_t fill_with(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept;
  /// Buffers that hold anything, and such as hold the packets' templates. @return how many, up to the first that there is none
  /// for
  std::uint32_t draw(std::uint32_t n, rte_mbuf** packets) noexcept;
  std::uint32_t draw_sorted(std::uint32_t n, const PacketRef* refs, rte_mbuf** packets) noexcept;
  void sort() noexcept;
  /// 1 + the template that a buffer holds; 0: none.
  [[nodiscard]] std::uint32_t& held(rte_mbuf* packet) const noexcept;
  void write(std::uint32_t index, rte_mbuf* packet) const noexcept;

  const Traffic& traffic_;
  Patch changes_;
  bool anew_;
  bool is_sorted_ = false;
  int held_ = -1;  ///< offset of the dynamic field that held() is
  rte_mempool* pool_ = nullptr;
  std::vector<Shelf> shelves_;         ///< by template
  rte_mempool_cache* cache_ = &none_;  ///< of this thread: what drivers give back lies there
  rte_mempool_cache none_{};           ///< of a thread without one: always empty
  Cursor cursor_;
  std::array<PacketRef, kMaxPacketBurst> refs_;  ///< of the burst being filled
  headers::BurstFields fields_;                  ///<
  std::uint16_t trial_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace dpubench::datapath
