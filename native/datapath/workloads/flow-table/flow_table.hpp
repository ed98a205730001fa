// A flow table: packets and bytes of each flow, with ageing and a policy for a full table.
//
// All engines follow the same rules, to the packet:
// - A flow enters with its first packet and is counted from that packet on.
// - A flow that had no packet for more than `idle_ms` is retired: at its next packet, which then begins a new record, or when the
//   bounded scan of age() comes to it. Until then it keeps its place.
// - When the table is full, a new flow's packet is refused, or the flow that entered first is retired to make room (evicted).
// - Retired records go to a log, so that all records of a key together sum up to its counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "datapath/workloads/flow-table/key.hpp"

namespace dpubench::datapath::flow_table {

enum class Full : std::uint8_t { kDrop, kEvictOldest, kForwardUncounted };

struct Limits {
  std::uint32_t flows = 100'000;
  std::uint32_t idle_ms = 0;  ///< 0: flows do not age
  Full full = Full::kDrop;
  [[nodiscard]] bool retires() const noexcept { return idle_ms != 0 || full == Full::kEvictOldest; }
};

/// One flow's account.
struct FlowRecord {
  Key key;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  ///< bytes of frames with FCS
};
static_assert(sizeof(FlowRecord) == 64);

/// The totals since clear() or zero().
struct Totals {
  std::uint64_t flows = 0;  ///< live now
  std::uint64_t inserted = 0;
  std::uint64_t aged = 0;
  std::uint64_t evicted = 0;
  std::uint64_t refused = 0;       ///< packets whose flow found no place
  std::uint64_t retired_lost = 0;  ///< records of retired flows for which the log had no room
  bool operator==(const Totals&) const = default;
};

/// Most retired records that are kept.
inline constexpr std::size_t kMaxRetired = std::size_t{4} << 20;

/// One core's table; used by one thread.
class FlowTable {
 public:
  FlowTable() = default;
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;
  virtual ~FlowTable() = default;

  /// Count the packets of a batch, in order. @param keys  of at most kMaxPacketBurst packets @param bytes  of their frames,
  /// with FCS @param refused  set for packets that found no place @param now_ms  of a clock that does not go back, modulo 2^32
  /// @returns how many packets were refused
  virtual std::uint32_t count(std::span<const Key> keys, const std::uint32_t* bytes, bool* refused,
                              std::uint32_t now_ms) noexcept = 0;
  /// Look at the next `places` of the table, round and round, and retire idle flows.
  virtual void age(std::uint32_t now_ms, std::uint32_t places) noexcept = 0;
  /// Empty the table. Untimed. @throws Error
  virtual void clear() = 0;
  /// Keep the live flows, with counts of zero, and forget the retired ones. Untimed. @throws Error
  virtual void zero() = 0;
  [[nodiscard]] virtual Totals totals() const = 0;
  /// Visit every record with packets: live flows, then retired ones. A key may come several times. Untimed. @throws Error
  virtual void for_each(const std::function<void(const FlowRecord&)>& visit) const = 0;
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
};

/// Bytes of a record in `flows.bin`, all fields little-endian: u8 IP version; u8 protocol and u16 source port (0 with key=paper);
/// u16 destination port; 2 bytes 0; 16 bytes each of source and destination address (IPv4: in the first four); u64 packets; u64
/// bytes. Counts of records with the same key add up.
inline constexpr std::size_t kDumpRecordBytes = 56;

/// Write all records of a table to `FOLDER/flows.bin`. @param append  behind the records of another core @throws Error
void dump(const FlowTable& table, KeyKind kind, const std::string& folder, bool append);

}  // namespace dpubench::datapath::flow_table
