// Fills the server's table before a trial that begins with known flows: it sends one packet of each flow and awaits the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "base/params.hpp"
#include "datapath/client/traffic.hpp"
#include "datapath/ports/port.hpp"

namespace dpubench::datapath {

/// The sender of these packets. It uses the client's port, so that each flow enters the table where its packets will look for it.
class Filler {
 public:
  /// Both `port` and `traffic` must outlive this object. @param workload  says by which key flows are told apart @throws Error
  /// when there is no memory
  Filler(Port& port, const Traffic& traffic, const Params& workload);
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;
  ~Filler();

  /// Send a packet of each flow in this trial's name. The number of unanswered packets is limited, so that no queue overflows.
  /// Packets that were not answered are sent again. @return fields of the event `filled`: `trial`, `flows`, `sent`, `answered`
  nlohmann::json run(std::uint32_t trial);

 private:
  class Pass;
  std::uint16_t send(std::span<const std::uint32_t> flows, std::uint32_t trial);

  Port& port_;
  const Traffic& traffic_;
  std::vector<std::uint64_t> first_packets_;  ///< by flow: the number of its first packet in a cycle
  rte_mempool* pool_ = nullptr;
};

}  // namespace dpubench::datapath
