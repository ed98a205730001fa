// The account of a trial: the sums of what the loops counted, and a dump packet by packet.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "datapath/server/loop.hpp"
#include "datapath/server/packet_record.hpp"
#include "measure/histogram.hpp"

namespace dpubench::datapath {

/// The sums of what loops counted in a trial.
class Account {
 public:
  explicit Account(const measure::Clock& clock) : clock_(clock) {}
  void add(const LoopCounts& counts, const measure::Histogram& residence, std::uint64_t not_noted);
  /// Add the measured part of one loop. @param knows_receive_work  whether the kernel's receive work on its CPU is known
  void add(const MeasuredPart::Account& part, bool knows_receive_work);
  /// Write the fields of `served`, except those of the process. @param stages  names @param begun_ticks, begun_ns  the trial's
  /// begin, on `clock` and on CLOCK_MONOTONIC_RAW
  void write(nlohmann::json& served, std::span<const std::string> stages, std::uint64_t begun_ticks,
             std::uint64_t begun_ns) const;

 private:
  [[nodiscard]] nlohmann::json measured_json(std::uint64_t begun_ticks) const;

  const measure::Clock& clock_;
  LoopCounts total_;
  measure::Histogram residence_;
  std::uint64_t not_noted_ = 0;
  struct Measured {
    std::uint32_t cores = 0;
    std::uint64_t from_ticks = 0;
    std::uint64_t core_ticks = 0;
    std::uint64_t packets = 0;
    bool knows_receive_work = false;
    CpuUse use;
  };
  Measured measured_;
};

/// Write received.bitmap (one bit per packet number of the trial, lowest first), dropped.u64 and tx_full.u64 (packet numbers,
/// little-endian) and dropped.reason (one Fate each) of all loops into a folder, and make the folder. @throws Error
void dump_records(std::span<const PacketRecord* const> records, const std::filesystem::path& folder);

}  // namespace dpubench::datapath
