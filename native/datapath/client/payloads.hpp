// Payloads of the traffic model, with and without a signature of the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "datapath/client/segmentation.hpp"
#include "datapath/job.hpp"
#include "inputs/random.hpp"
#include "inputs/store.hpp"
#include "operators/engines.hpp"

namespace dpubench::datapath {

using Payload = std::vector<std::byte>;

/// The source of payloads that the job names: random bytes, the payloads of its captures, or its corpus.
class PayloadSource {
 public:
  /// @throws Error when the job lacks the input, or the captures carry no payload
  PayloadSource(const PayloadSpec& spec, inputs::Store& store);
  std::vector<Payload> cut(std::size_t count, std::size_t bytes);

 private:
  const PayloadSpec& spec_;
  inputs::Store& store_;
  inputs::Random random_;
  Payload captured_;  ///< all payloads of the captures, one after the other
};

/// Plant in each message a string that one of the rules matches there, as the reference engine confirms. Leave out messages
/// where none of several drawn strings matches. Signatures lie across a border of two segments if they can. @throws Error when
/// the job has no rules, or the reference engine cannot run
std::vector<Message> plant_signatures(std::vector<Message> messages, inputs::Store& store, const EngineCatalog& engines);

}  // namespace dpubench::datapath
