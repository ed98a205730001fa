// flow-table: counts packets and bytes of every flow, and sends the packet back.
#include "datapath/workloads/flow-table/engine.hpp"
#include "datapath/workloads/swapped.hpp"

namespace dpubench::datapath::flow_table {
namespace {

class FlowTableWorkload final : public Workload {
 public:
  [[nodiscard]] const WorkloadInfo& info() const override {
    static const WorkloadInfo kInfo = {
        .name = kWorkload,
        .summary = "count packets and bytes of every flow, and send the packet back",
        .definition =
            "Of each packet the key is extracted and looked up, and packets and bytes (of the frame, with FCS) of its flow are "
            "counted; a new flow is entered. Packets without a whole transport header (later fragments, ICMP, tunnels) have port "
            "0. A packet that is not IP, ends inside a header or contradicts itself has no key: it is counted as unkeyed. A flow "
            "without a packet for more than idle_ms is retired at its next packet (which begins a new record) or when the scan "
            "of the table comes to it. The records of a key, live and retired, sum up to its packets. Each core has its own "
            "table. Every frame with a whole Ethernet header is sent back with its MAC addresses swapped, unless the table is "
            "full and drops.",
        .parameters =
            {{.name = "flows",
              .summary = "flows that a table holds",
              .values = {"1000", "10000", "100000", "1000000", "10000000"},
              .default_value = "100000",
              .unit = "1",
              .min = 1000,
              .max = 10'000'000},
             {.name = "key",
              .summary = "paper: IP addresses, destination port, MAC addresses; five_tuple: IP addresses, ports, protocol",
              .values = {"paper", "five_tuple"},
              .default_value = "paper",
              .is_mode = true,
              .unit = ""},
             {.name = "idle_ms",
              .summary = "a flow without a packet for a longer time is retired; 0: never",
              .values = {"0", "100", "1000"},
              .default_value = "0",
              .unit = "ms",
              .min = 0,
              .max = 86'400'000},
             {.name = "full",
              .summary = "when a new flow finds the table full: drop its packet, evict the flow that entered first, or forward "
                         "the packet uncounted",
              .values = {"drop", "evict_oldest", "forward_uncounted"},
              .default_value = "drop",
              .unit = ""},
             {.name = "start",
              .summary =
                  "prefilled: the table knows the flows of the traffic before a trial begins, as in steady state; cold: it "
                  "is empty, and every flow's first packet enters it",
              .values = {"prefilled", "cold"},
              .default_value = "prefilled",
              .unit = ""}},
        .stages = {{.name = kStage,
                    .summary = "look the flow up, count, enter, retire",
                    .op = "",
                    .engines = stage_engine_infos(kWorkload),
                    .default_engine = "portable"}},
        .inputs = {},
        .sources = {"DPUBench (Wang, Wang, Wang, 2023), application \"flow table\"", "RFC 7011 (flow keys, idle time-out)"}};
    return kInfo;
  }

  [[nodiscard]] std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& store,
                                               const EngineCatalog& /*engines*/) const override {
    return open_stage_engine(kWorkload, kStage, setting, store);
  }

  [[nodiscard]] std::unique_ptr<Expectation> expect(const Params& /*params*/, inputs::Store& /*store*/,
                                                    const EngineCatalog& /*engines*/,
                                                    std::span<const FrameTemplate> /*templates*/) const override {
    return expect_swapped();
  }
};

DPUBENCH_WORKLOAD(FlowTableWorkload);

}  // namespace
}  // namespace dpubench::datapath::flow_table
