// Whether the server counted each flow's packets and bytes right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/params.hpp"
#include "datapath/client/dump.hpp"
#include "datapath/client/traffic.hpp"
#include "datapath/client/trial.hpp"

namespace dpubench::datapath {

struct FlowCheck {
  std::uint64_t flows = 0;  ///< that were sent and counted, or should have been
  std::uint64_t wrong = 0;
  std::string first_wrong;
};

/// The number of the first packet, within a cycle, of each flow that a flow table tells apart. Of flows that follow one another
/// (churn) those that are there at first. @param workload  as below
std::vector<std::uint64_t> first_packets(const Traffic& traffic, const Params& workload);

/// Whether packets came back, or were counted, that the server did not see: they went through elsewhere (XDP).
bool is_elsewhere(const TrialRunner& runner, const ServerDump& dump);

/// Replays the last trial over the packets that the server received and did not drop, and compares with what its flow table
/// counted. Where is_elsewhere(), each flow's count must lie between what came back and what was sent. Nothing is checked without
/// a flows.bin. @param workload  `key`: paper or five_tuple; `full`: with forward_uncounted a flow may be counted short @throws
/// Error when the file is no dump
FlowCheck check_flows(const TrialRunner& runner, const Traffic& traffic, const Params& workload, const ServerDump& dump,
                      const std::string& folder);

}  // namespace dpubench::datapath
