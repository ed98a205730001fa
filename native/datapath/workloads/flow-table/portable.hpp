// The portable table, for engines that count in software the packets that their device does not count.
#pragma once

#include <memory>

#include "datapath/workloads/flow-table/flow_table.hpp"

namespace dpubench::datapath::flow_table {

/// Make a portable table. @throws Error when there is no memory
std::unique_ptr<FlowTable> make_portable_table(const Limits& limits);

}  // namespace dpubench::datapath::flow_table
