// A stage over an operator's lane, the same lane that the operators study measures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/stages/pipeline.hpp"
#include "inputs/store.hpp"
#include "operators/engines.hpp"
#include "operators/operator.hpp"

namespace dpubench::datapath {

/// Value of LaneRunner::status() for an item whose burst the lane did not give back.
inline constexpr std::uint8_t kStatusLost = 0xDD;

/// One core's lane with the arrays of one batch. The caller adds items, runs them together and reads their results:
///
///     runner.clear();
///     for each packet that concerns the stage: runner.add(...);
///     runner.run();
///     for each of them: runner.status(i), result(i), out_len(i)
///
/// Nothing is copied: inputs and outputs stay where the caller put them until run() returns. Inputs need no alignment.
class LaneRunner {
 public:
  static constexpr std::uint32_t kCapacity = kMaxPacketBurst;
  static constexpr std::uint64_t kPatienceNs = 5'000'000'000;
  static_assert(kCapacity <= kMaxBurst);

  /// @param burst_items  items of one burst; a lane that keeps several in flight gets the next ones while those are at work
  /// @param patience_ns  how long a lane may neither take nor complete anything before its items are lost
  LaneRunner(std::unique_ptr<Lane> lane, std::uint32_t burst_items, std::uint64_t patience_ns = kPatienceNs);
  ~LaneRunner();
  LaneRunner(const LaneRunner&) = delete;
  LaneRunner& operator=(const LaneRunner&) = delete;

  /// Tell the lane of memory for inputs or outputs that is not DPDK's own (mbufs and rte_malloc are). Call this once, untimed:
  /// a device maps the memory for DMA. @throws Error
  void attach(std::span<std::byte> memory) { lane_->attach(memory); }

  void clear() noexcept { n_ = 0; }
  [[nodiscard]] std::uint32_t size() const noexcept { return n_; }

  /// Append an item and return its index. At most kCapacity items fit between two clear(). The operator defines what the
  /// pointers mean. @param in_bytes  at most PreparedOperator::most_in_bytes() @param aux  nullptr where the operator has none
  std::uint32_t add(const std::byte* in, std::uint32_t in_bytes, std::byte* out, std::uint32_t out_room,
                    const std::byte* aux = nullptr) noexcept {
    const std::uint32_t i = n_++;
    in_[i] = in;
    in_len_[i] = in_bytes;
    out_[i] = out;
    out_room_[i] = out_room;
    out_len_[i] = 0;
    aux_[i] = aux;
    status_[i] = kStatusPoison;
    return i;
  }

  /// Run all items: submit and poll until every one is complete. Return false when the lane neither took nor completed anything
  /// for its patience. Then all items are lost: their status is kStatusLost, and every later run() returns false at once (the
  /// fate of such a packet is Fate::kDropFailed). The device may still write to the buffers of lost items. Never use these
  /// buffers again; keep_lost() ensures that for an mbuf.
  bool run() noexcept;

  [[nodiscard]] std::uint8_t status(std::uint32_t i) const noexcept { return status_[i]; }
  [[nodiscard]] std::uint64_t result(std::uint32_t i) const noexcept { return result_[i]; }
  [[nodiscard]] std::uint32_t out_len(std::uint32_t i) const noexcept { return out_len_[i]; }
  /// Take one more reference to the mbuf, so that freeing it gives its memory to nobody.
  static void keep_lost(rte_mbuf* packet) noexcept { rte_mbuf_refcnt_update(packet, 1); }

 private:
  std::uint32_t submit(std::uint32_t next) noexcept;

  std::unique_ptr<Lane> lane_;
  std::uint32_t burst_items_;
  std::uint64_t patience_ns_;
  std::uint32_t most_bursts_;  ///< most bursts in flight at once
  std::uint32_t n_ = 0;
  bool lost_ = false;
  std::array<const std::byte*, kCapacity> in_{};
  std::array<std::uint32_t, kCapacity> in_len_{};
  std::array<std::byte*, kCapacity> out_{};
  std::array<std::uint32_t, kCapacity> out_room_{};
  std::array<std::uint32_t, kCapacity> out_len_{};
  std::array<const std::byte*, kCapacity> aux_{};
  std::array<std::uint64_t, kCapacity> result_{};
  std::array<std::uint8_t, kCapacity> status_{};
  std::vector<Burst> bursts_;
};

/// The operator, engine and parameters that a stage asks for.
struct OperatorSpec {
  std::string stage;  ///< for the report
  std::string op;     ///< "sha256"
  Params params;      ///< missing ones get the operator's defaults
  std::string engine;
  std::uint32_t most_in_bytes = 0;  ///< longest input that the stage adds; 0: as long as the items of the work
  std::uint32_t burst_items = 32;   ///< items in a burst of a device; a synchronous engine gets all items of a batch as one
  std::uint64_t seed = 1;
};

/// An operator's engine, prepared, verified and shared by all cores. It is verified on known answers, then on the operator's
/// real input in the layout of the operators study, then on the same input through a LaneRunner, at the odd addresses that
/// payloads have in packets.
class PreparedOperator {
 public:
  /// Prepare and verify the engine. @throws Error that names the stage and the fault: the operator or engine is unknown, the
  /// engine cannot run here (with the reason) or does not do these parameters, the operator's items are shorter than
  /// `most_in_bytes`, or an answer is wrong
  PreparedOperator(OperatorSpec spec, inputs::Store& store, const EngineCatalog& engines);
  ~PreparedOperator();
  PreparedOperator(const PreparedOperator&) = delete;
  PreparedOperator& operator=(const PreparedOperator&) = delete;

  [[nodiscard]] const StageReport& report() const { return report_; }
  /// Return the work that the session was made for. An operator's own type carries rules or tables (static_cast to the type in
  /// its header).
  [[nodiscard]] const Work& work() const { return *work_; }
  [[nodiscard]] std::uint32_t most_in_bytes() const { return most_in_bytes_; }
  /// Open the lane of one core, on that core's thread, untimed. Destroy it before this object. @throws Error
  [[nodiscard]] std::unique_ptr<LaneRunner> open();
  /// Open the lane alone, as the operators study drives it; otherwise like open(). @throws Error
  [[nodiscard]] std::unique_ptr<Lane> open_lane();

 private:
  void prepare(inputs::Store& store, const EngineCatalog& engines);
  [[nodiscard]] std::vector<Output> run_unaligned();

  OperatorSpec spec_;
  std::unique_ptr<Work> work_;
  std::unique_ptr<Session> session_;
  bool is_synchronous_ = true;
  std::uint32_t most_in_bytes_ = 0;
  StageReport report_;
};

}  // namespace dpubench::datapath
