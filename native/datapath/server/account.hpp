// The account of a trial: what the loops counted, added up, and dumped packet by packet.
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

/// Adds up what loops counted in a trial.
class Account {
 public:
  explicit Account(const measure::Clock& clock) : clock_(clock) {}
  void add(const LoopCounts& counts, const measure::Histogram& residence, std::uint64_t not_noted);
  /// The measured part of one loop. @param knows_receive_work  whether that of the kernel on its CPU was told
  void add(const MeasuredPart::Account& part, bool knows_receive_work);
  /// Fields of `served`, but for those of the process. @param stages  names @param begun_ticks, begun_ns  the trial's begin, of
  /// `clock` and of CLOCK_MONOTONIC_RAW
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

/// Writes received.bitmap (one bit a packet number of the trial, lowest first), dropped.u64 and tx_full.u64 (packet numbers,
/// little-endian) and dropped.reason (a Fate each) of all loops into a folder, which is made. @throws Error
void dump_records(std::span<const PacketRecord* const> records, const std::filesystem::path& folder);

}  // namespace dpubench::datapath
