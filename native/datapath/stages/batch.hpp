// Packets of one receive burst on their way through the stages.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/ports/port.hpp"
#include "packet/frame.hpp"

namespace dpubench::datapath {

/// The end that a packet has in the server. The set is closed: the reasons in `served.dropped` are drop_name() of these values.
enum class Fate : std::uint8_t {
  kForward,        ///< transmit on the port that it came from
  kNext,           ///< transmit to the next server (split)
  kHeld,           ///< a stage keeps the mbuf (reassembly) and gives it back later; none may be left when a trial has drained
  kDropShort,      ///< shorter than its headers
  kDropMalformed,  ///< headers that contradict themselves
  kDropChecksum,
  kDropNotIp,
  kDropFull,    ///< the flow table is full and its policy is to drop
  kDropPolicy,  ///< the application's own decision
  kDropNoRoom,  ///< no buffer for the answer
  kDropFailed,  ///< an operator rejected it
  kDropStale,   ///< packet of another trial, held back by a link; not counted among the trial's packets; no stage sees it
};
inline constexpr std::size_t kFates = 12;
/// Return "short", "malformed", ..., or nullptr for fates that are no drop.
const char* drop_name(Fate fate) noexcept;

/// The packets of a burst as a structure of arrays: entry i of each array belongs to packet i.
struct Batch {
  std::uint32_t n = 0;
  std::uint64_t received_ticks = 0;  ///< the clock after the receive burst
  std::array<rte_mbuf*, kMaxPacketBurst> packets{};
  std::array<packet::Parsed, kMaxPacketBurst> parsed{};
  std::array<Fate, kMaxPacketBurst> fate{};
  std::array<std::uint32_t, kMaxPacketBurst> mark{};  ///< the workload's mark: class, flow index ...

  [[nodiscard]] std::byte* data(std::uint32_t i) const noexcept { return rte_pktmbuf_mtod(packets[i], std::byte*); }
  /// Return the packet's bytes. Stages see packets in one segment: the loop linearises chains before the first stage.
  [[nodiscard]] std::span<std::byte> frame(std::uint32_t i) const noexcept { return {data(i), packets[i]->data_len}; }
};

}  // namespace dpubench::datapath
