#include "datapath/client/flow_check.hpp"

#include <cstring>
#include <filesystem>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "datapath/client/bitmap.hpp"
#include "datapath/client/headers.hpp"
#include "packet/frame.hpp"

namespace dpubench::datapath {
namespace {

/// The packets and bytes of a flow: the least and the most that should have been counted, and the actual count.
struct Tally {
  std::uint64_t least_packets = 0;
  std::uint64_t least_bytes = 0;
  std::uint64_t most_packets = 0;
  std::uint64_t most_bytes = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;

  void expect(std::uint64_t frame_bytes, bool surely) {
    ++most_packets;
    most_bytes += frame_bytes;
    if (!surely) return;
    ++least_packets;
    least_bytes += frame_bytes;
  }
  [[nodiscard]] bool right() const {
    return packets >= least_packets && packets <= most_packets && bytes >= least_bytes && bytes <= most_bytes;
  }
};

/// Return, as text, the part of a record that tells flows apart under a key.
std::string key_text(FlowCount flow, bool five_tuple) {
  if (!five_tuple) {
    flow.protocol = 0;
    flow.source_port = 0;
  }
  flow.packets = 0;
  flow.bytes = 0;
  std::string text;
  const auto add = [&text](const auto& value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
  add(flow.version);
  add(flow.protocol);
  add(flow.source_port);
  add(flow.destination_port);
  add(flow.source);
  add(flow.destination);
  return text;
}

/// Make the record of a captured frame. Return false when a flow table has none for it: the frame is not IP, or a header is not
/// sound.
bool flow_of(std::span<const std::byte> frame, FlowCount& flow) {
  const packet::Parsed parsed = packet::parse(frame);
  if (parsed.kind != packet::Kind::kTransport && parsed.kind != packet::Kind::kFragment && parsed.kind != packet::Kind::kOtherIp)
    return false;
  flow.version = parsed.version;
  flow.protocol = parsed.protocol;
  const std::size_t bytes = parsed.version == 4 ? 4 : 16;
  const std::size_t at = parsed.ip + (parsed.version == 4 ? 12U : 8U);
  std::memcpy(flow.source.data(), frame.data() + at, bytes);
  std::memcpy(flow.destination.data(), frame.data() + at + bytes, bytes);
  if (parsed.kind == packet::Kind::kTransport) {
    flow.source_port =
        static_cast<std::uint16_t>(headers::swapped16(headers::load<std::uint16_t>(frame.data() + parsed.transport)));
    flow.destination_port =
        static_cast<std::uint16_t>(headers::swapped16(headers::load<std::uint16_t>(frame.data() + parsed.transport + 2)));
  }
  return true;
}

/// The tallies of all flows. A flow of the model is found by its number, a flow of a capture by its key.
class Tallies {
 public:
  Tallies(const Traffic& traffic, bool five_tuple, std::uint64_t flows) : traffic_(traffic), five_tuple_(five_tuple) {
    if (traffic.patch != Patch::kNone) {
      by_number_.resize(flows);
      return;
    }
    for (const FrameTemplate& from : traffic.templates) {
      FlowCount flow;
      of_template_.push_back(flow_of(from.frame, flow) ? &by_key_[key_text(flow, five_tuple)] : nullptr);
    }
  }

  /// Return the tally of a packet, or null when a flow table has none for it.
  Tally* find(const PacketRef& packet) {
    if (traffic_.patch == Patch::kNone) return of_template_[packet.index];
    return &by_number_[packet.flow];
  }
  /// Return the tally of a record, or null when no flow of the traffic has this key.
  Tally* find(const FlowCount& count) {
    if (traffic_.patch == Patch::kNone) {
      const auto found = by_key_.find(key_text(count, five_tuple_));
      return found == by_key_.end() ? nullptr : &found->second;
    }
    inputs::Flow tuple;
    tuple.version = count.version;
    std::memcpy(tuple.source.data(), count.source.data(), 16);
    std::memcpy(tuple.destination.data(), count.destination.data(), 16);
    const std::uint32_t flow = traffic_.space.find_addresses(tuple);
    const inputs::Flow known = traffic_.space.tuple(flow, version(), protocol());
    const bool same = known.version == tuple.version && known.source == tuple.source && known.destination == tuple.destination &&
                      known.destination_port == count.destination_port;
    const bool same_rest = !five_tuple_ || (known.source_port == count.source_port && known.protocol == count.protocol);
    return same && same_rest && flow < by_number_.size() ? &by_number_[flow] : nullptr;
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Tally& tally : by_number_) visit(tally);
    for (const auto& [key, tally] : by_key_) visit(tally);
  }

 private:
  [[nodiscard]] std::uint8_t version() const { return headers::is_version4(traffic_.patch) ? 4 : 6; }
  [[nodiscard]] std::uint8_t protocol() const { return headers::is_tcp(traffic_.patch) ? 6 : 17; }

  const Traffic& traffic_;
  bool five_tuple_;
  std::vector<Tally> by_number_;
  std::unordered_map<std::string, Tally> by_key_;
  std::vector<Tally*> of_template_;
};

/// Add up what the flow table should have counted.
void replay(const TrialRunner& runner, const Traffic& traffic, const ServerDump& dump, bool exact, Tallies& tallies) {
  const TrialRecord& record = *runner.record();
  const bool is_flood = record.spec.schedule == Schedule::kFlood;
  const bool elsewhere = is_elsewhere(runner, dump);
  DueTimes due = runner.due_times(record.spec);
  Cursor cursor(traffic);
  for (std::uint64_t number = 0; number < record.end; ++number) {
    const PacketRef packet = cursor.next(is_flood ? 0 : due.next());
    const bool may = elsewhere ? !runner.unsent().test(number) : dump.received(number) && !dump.dropped(number);
    const bool surely = exact && (elsewhere ? runner.seen().test(number) : may);
    Tally* const tally = may ? tallies.find(packet) : nullptr;
    if (tally != nullptr) tally->expect(traffic.shapes[packet.index].length + kFcsBytes, surely);
  }
}

/// Return how many flows have lived up to the end of a trial, with its churn.
std::uint64_t flows_of(const TrialRunner& runner, const Traffic& traffic) {
  Churn churn(traffic.slots, traffic.churn_per_s);
  const TrialSpec& spec = runner.record()->spec;
  churn.advance(static_cast<std::uint64_t>((spec.ramp_s + spec.duration_s) * 1e9) + 1);
  return churn.flows();
}

std::string number_of(std::uint64_t packets, std::uint64_t bytes) {
  return std::to_string(packets) + " packets of " + std::to_string(bytes) + " bytes";
}

}  // namespace

std::vector<std::uint64_t> first_packets(const Traffic& traffic, const Params& workload) {
  std::vector<std::uint64_t> numbers;
  if (traffic.patch != Patch::kNone) {
    Bitmap met(traffic.slots);
    for (std::size_t message = 0; message < traffic.flow_order.size(); ++message) {
      if (!met.exchange(traffic.flow_order[message])) numbers.push_back(message * traffic.segments);
    }
    return numbers;
  }
  const bool five_tuple = workload.is("key", "five_tuple");
  std::unordered_set<std::string> met;
  for (std::size_t i = 0; i < traffic.templates.size(); ++i) {
    FlowCount flow;
    if (flow_of(traffic.templates[i].frame, flow) && met.insert(key_text(flow, five_tuple)).second) numbers.push_back(i);
  }
  return numbers;
}

bool is_elsewhere(const TrialRunner& runner, const ServerDump& dump) {
  return dump.nothing_received() && (dump.has_flows() || runner.seen().count(0, runner.record()->end) > 0);
}

FlowCheck check_flows(const TrialRunner& runner, const Traffic& traffic, const Params& workload, const ServerDump& dump,
                      const std::string& folder) {
  FlowCheck check;
  if (!std::filesystem::exists(std::filesystem::path(folder) / "flows.bin")) return check;
  Tallies tallies(traffic, workload.is("key", "five_tuple"), flows_of(runner, traffic));
  replay(runner, traffic, dump, !workload.is("full", "forward_uncounted"), tallies);
  const auto wrong = [&check](const std::string& what) {
    ++check.wrong;
    if (check.first_wrong.empty()) check.first_wrong = what;
  };
  for_each_flow(folder, [&](const FlowCount& count) {
    Tally* const tally = tallies.find(count);
    if (tally == nullptr) {
      return wrong("the server counted " + number_of(count.packets, count.bytes) + " of a flow that was never sent");
    }
    tally->packets += count.packets;
    tally->bytes += count.bytes;
  });
  tallies.for_each([&](const Tally& tally) {
    if (tally.most_packets == 0 && tally.packets == 0) return;
    ++check.flows;
    if (tally.right()) return;
    wrong("the server counted for a flow " + number_of(tally.packets, tally.bytes) + " instead of " +
          number_of(tally.most_packets, tally.most_bytes));
  });
  return check;
}

}  // namespace dpubench::datapath
