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

/// Cuts payloads from what the job names: random bytes, its captures' payloads, its corpus.
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

/// Plants in each message a string that one of the rules matches there, as the reference engine says, and leaves out messages
/// where none of several drawn ones does. Signatures lie across a border of two segments where they can. @throws Error when the
/// job has no rules, or no signature fits into so few bytes
std::vector<Message> plant_signatures(std::vector<Message> messages, inputs::Store& store, const EngineCatalog& engines);

}  // namespace dpubench::datapath
