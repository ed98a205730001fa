// Checks whether the server counted each flow's packets and bytes right.
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
  std::uint64_t flows = 0;  ///< flows that were counted, or should have been
  std::uint64_t wrong = 0;
  std::string first_wrong;
};

/// Return, for each flow that a flow table tells apart, the number of its first packet within a cycle. If flows follow one
/// another (churn), only those that are there at first count. @param workload  as below
std::vector<std::uint64_t> first_packets(const Traffic& traffic, const Params& workload);

/// Return whether packets came back, or were counted, that the server did not see: they went through elsewhere (XDP).
bool is_elsewhere(const TrialRunner& runner, const ServerDump& dump);

/// Replay the last trial over the packets that the server received and did not drop, and compare with the counts of its flow
/// table. If is_elsewhere(), each flow's count must lie between the packets that came back and the packets that were sent.
/// Without a flows.bin nothing is checked. @param workload  `key`: paper or five_tuple; `full`: with forward_uncounted a flow
/// may be counted short @throws Error when the file is no dump
FlowCheck check_flows(const TrialRunner& runner, const Traffic& traffic, const Params& workload, const ServerDump& dump,
                      const std::string& folder);

}  // namespace dpubench::datapath
