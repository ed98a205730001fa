// Makes the frames of the traffic model.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "datapath/client/headers.hpp"
#include "datapath/client/payloads.hpp"
#include "datapath/client/segmentation.hpp"
#include "datapath/client/traffic.hpp"
#include "datapath/frame/trailer.hpp"
#include "packet/frame.hpp"

namespace dpubench::datapath {
namespace {

/// Different payloads of a frame size, and as many with a signature. kLeastPayloads is the least for each way to cut messages.
constexpr std::size_t kPayloads = 8;
constexpr std::size_t kLeastPayloads = 2;
constexpr std::uint64_t kMessageCycle = 1U << 16;

struct Layout {
  Patch patch;
  std::uint32_t headers;  ///< bytes up to the payload
};

Layout layout_of(const TrafficSpec& spec) {
  const bool tcp = spec.protocol == "tcp";
  if (spec.version == 4) return tcp ? Layout{Patch::kTcp4, 54} : Layout{Patch::kUdp4, 42};
  return tcp ? Layout{Patch::kTcp6, 74} : Layout{Patch::kUdp6, 62};
}

/// Return the shortest frame, with FCS, that holds headers, the payload that a message needs, and the trailer.
std::uint32_t least_frame(std::uint32_t headers, std::uint32_t payload) {
  const std::uint32_t compact = headers + payload + kCompactTrailerBytes;
  const std::uint32_t buffer = compact < kLeastFullFrame ? compact : headers + payload + kTrailerBytes;
  return std::max(buffer, kMinFrame - kFcsBytes) + kFcsBytes;
}

std::uint32_t payload_bytes(const Layout& layout, std::uint32_t frame) {
  const std::uint32_t buffer = frame - kFcsBytes;
  return buffer - trailer_bytes(buffer) - layout.headers;
}

void check(const TrafficSpec& spec, const Layout& layout) {
  if (spec.frame_sizes.empty()) throw Error("traffic/frame_sizes: is empty; give a size, such as [[64, 1]]");
  // A segment that overlaps has a byte of the one before it, and one of its own.
  const std::uint32_t least = least_frame(layout.headers, spec.overlap_share > 0 ? 2 : spec.segments > 1 ? 1 : 0);
  for (const auto& [size, weight] : spec.frame_sizes) {
    if (size < least) {
      throw Error("traffic/frame_sizes: " + std::to_string(size) + " B is too small for a " + spec.protocol + " packet of IPv" +
                  std::to_string(spec.version) + " with its trailer; the smallest frame is " + std::to_string(least) +
                  " B with FCS");
    }
  }
  if (spec.segments > 1 && spec.protocol != "tcp") {
    throw Error("traffic/segments: " + std::to_string(spec.segments) + " segments of a message need TCP; set protocol to tcp");
  }
  if (spec.segments == 1 && (spec.retransmit_share > 0 || spec.overlap_share > 0)) {
    throw Error("traffic/" + std::string(spec.retransmit_share > 0 ? "retransmit_share" : "overlap_share") +
                ": needs a message of several segments; set segments to more than 1");
  }
}

/// The builder of messages. Each message has `segments` templates.
class Builder {
 public:
  Builder(const TrafficSpec& spec, const Layout& layout, const FlowSpace& space, inputs::Random random)
      : spec_(spec),
        layout_(layout),
        flow_(space.tuple(0, static_cast<std::uint8_t>(spec.version),
                          spec.protocol == "tcp" ? packet::protocol::kTcp : packet::protocol::kUdp)),
        random_(random) {}

  /// Append the templates of a message.
  void append(Traffic& traffic, const Message& message, std::uint32_t frame_size) {
    const std::uint32_t bytes = payload_bytes(layout_, frame_size);
    const auto index = static_cast<std::uint32_t>(traffic.templates.size() / spec_.segments);
    for (const std::uint32_t at : message.cut.at) {
      traffic.templates.push_back({frame(std::span(message.bytes).subspan(at, bytes), at, frame_size - kFcsBytes), index});
    }
    message_bytes_.push_back(message.cut.message_bytes);
  }
  /// Return how far each message moves its stream on.
  [[nodiscard]] const std::vector<std::uint32_t>& message_bytes() const { return message_bytes_; }

 private:
  std::vector<std::byte> frame(std::span<const std::byte> payload, std::uint32_t sequence, std::uint32_t length) {
    const auto ip_length = static_cast<std::uint32_t>(layout_.headers - kEthernetBytes + payload.size());
    const std::vector<std::byte> ip = inputs::make_packet(flow_, ip_length, random_);
    std::vector<std::byte> made = make_frame(ip, static_cast<std::uint8_t>(spec_.version), length);
    if (headers::is_tcp(layout_.patch)) {
      const std::size_t transport = headers::is_version4(layout_.patch) ? headers::kTransport4 : headers::kTransport6;
      headers::store(made.data() + transport + headers::kTcpSequence, headers::swapped(sequence));
    }
    std::copy(payload.begin(), payload.end(), made.begin() + layout_.headers);
    packet::set_checksums(made, packet::parse(made));
    return made;
  }

  const TrafficSpec& spec_;
  const Layout& layout_;
  inputs::Flow flow_;
  inputs::Random random_;
  std::vector<std::uint32_t> message_bytes_;
};

/// The messages of a size that are cut alike: their place in the order of messages, and how many have no signature and how many
/// have one.
struct Group {
  double weight = 1;
  std::size_t first = 0;
  std::size_t plain = 0;
  std::size_t planted = 0;
};

/// Return how often each entry comes in `total` by its weight, to the nearest (largest remainders first).
std::vector<std::size_t> shares(std::span<const double> weights, std::size_t total) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::size_t> counts;
  std::vector<std::pair<double, std::size_t>> rests;
  std::size_t given = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double exact = weights[i] / sum * static_cast<double>(total);
    counts.push_back(static_cast<std::size_t>(exact));
    given += counts.back();
    rests.emplace_back(std::floor(exact) - exact, i);
  }
  std::sort(rests.begin(), rests.end());
  for (std::size_t i = 0; given < total; ++i, ++given) ++counts[rests[i % rests.size()].second];
  return counts;
}

/// Return a shuffled cycle of messages in which sizes and signatures have their shares.
std::vector<std::uint16_t> draw_messages(const TrafficSpec& spec, std::span<const Group> groups, std::size_t length,
                                         inputs::Random& random) {
  std::vector<double> weights;
  for (const Group& group : groups) weights.push_back(group.weight);
  const std::vector<std::size_t> counts = shares(weights, length);
  std::vector<std::uint16_t> order;
  order.reserve(length);
  const auto add = [&order](std::size_t first, std::size_t messages, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) order.push_back(static_cast<std::uint16_t>(first + i % messages));
  };
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    const auto wanted = static_cast<std::size_t>(std::llround(spec.payload.signature_share * static_cast<double>(counts[i])));
    const std::size_t planted = group.planted > 0 ? wanted : 0;
    if (planted > 0) add(group.first + group.plain, group.planted, planted);
    if (planted < counts[i]) add(group.first, group.plain, counts[i] - planted);
  }
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

/// Record how far each slot's TCP stream is at each message of a cycle.
void number_streams(Traffic& traffic, std::span<const std::uint32_t> message_bytes) {
  traffic.sequence_cycle.assign(traffic.slots, 0);
  traffic.sequence_order.reserve(traffic.flow_order.size());
  for (std::size_t i = 0; i < traffic.flow_order.size(); ++i) {
    std::uint32_t& sent = traffic.sequence_cycle[traffic.flow_order[i]];
    traffic.sequence_order.push_back(sent);
    sent += message_bytes[traffic.message_order.empty() ? 0 : traffic.message_order[i]];
  }
}

/// The messages of a job, size by size and kind by kind.
class Messages {
 public:
  Messages(const TrafficJob& job, const Layout& layout, inputs::Store& store, const EngineCatalog& engines, Traffic& traffic)
      : spec_(job.traffic),
        layout_(layout),
        store_(store),
        engines_(engines),
        traffic_(traffic),
        builder_(spec_, layout, traffic.space, store.random("traffic-frames")),
        source_(spec_.payload, store),
        random_(store.random("traffic-segments")),
        kinds_(segment_kinds(spec_)) {
    // Read the rules even if no frame has room for a signature: the message that says so names them.
    if (spec_.payload.signature_share > 0) (void)store.rules();
    for (const auto& [size, weight] : spec_.frame_sizes) {
      const std::size_t before = signatures_;
      for (const SegmentKind& kind : kinds_) add(size, weight * kind.share, kind);
      if (spec_.payload.signature_share > 0 && signatures_ == before) {
        traffic_.notes.push_back("no signature of the rules fits into the " + std::to_string(payload_bytes(layout_, size)) +
                                 " B of payload of a frame of " + std::to_string(size) + " B: such frames carry none");
      }
    }
    if (spec_.payload.signature_share > 0 && signatures_ == 0) {
      throw Error("traffic/payload/signature_share: no signature of " + store.identity("rules").name +
                  " fits into the payload of any frame size and matches there; give larger frames or other rules");
    }
  }
  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
  [[nodiscard]] const std::vector<std::uint32_t>& message_bytes() const { return builder_.message_bytes(); }

 private:
  std::vector<Message> draw(std::size_t count, std::uint32_t bytes, const SegmentKind& kind) {
    std::vector<Message> messages;
    for (std::size_t i = 0; i < count; ++i) {
      Message message;
      message.cut = draw_segmentation(spec_.segments, bytes, kind, random_);
      message.bytes = std::move(source_.cut(1, message.cut.message_bytes).front());
      messages.push_back(std::move(message));
    }
    return messages;
  }
  void add(std::uint32_t size, double weight, const SegmentKind& kind) {
    const std::uint32_t bytes = payload_bytes(layout_, size);
    const std::size_t count = std::max(kLeastPayloads, kPayloads / kinds_.size());
    Group group{.weight = weight, .first = traffic_.templates.size() / spec_.segments};
    // Without a payload all messages are alike.
    const std::vector<Message> plain = draw(bytes == 0 ? 1 : count, bytes, kind);
    std::vector<Message> planted;
    if (spec_.payload.signature_share > 0 && bytes > 0) planted = plant_signatures(draw(count, bytes, kind), store_, engines_);
    signatures_ += planted.size();
    group.plain = plain.size();
    group.planted = planted.size();
    for (const Message& message : plain) builder_.append(traffic_, message, size);
    for (const Message& message : planted) builder_.append(traffic_, message, size);
    groups_.push_back(group);
  }

  const TrafficSpec& spec_;
  Layout layout_;
  inputs::Store& store_;
  const EngineCatalog& engines_;
  Traffic& traffic_;
  Builder builder_;
  PayloadSource source_;
  inputs::Random random_;
  std::vector<SegmentKind> kinds_;
  std::vector<Group> groups_;
  std::size_t signatures_ = 0;
};

}  // namespace

std::unique_ptr<Traffic> model_traffic(const TrafficJob& job, inputs::Store& store, const EngineCatalog& engines) {
  const TrafficSpec& spec = job.traffic;
  const Layout layout = layout_of(spec);
  check(spec, layout);
  auto traffic = std::make_unique<Traffic>();
  traffic->patch = layout.patch;
  traffic->segments = spec.segments;
  traffic->slots = spec.flows;
  traffic->churn_per_s = spec.churn_per_s;
  traffic->space = FlowSpace(store.random("traffic-flows").next());
  const Messages messages(job, layout, store, engines, *traffic);
  inputs::Random random = store.random("traffic-order");
  const double exponent = spec.popularity == "zipf" ? spec.zipf_exponent : 0;
  traffic->flow_order = draw_flow_order(spec.flows, exponent, random);
  if (traffic->templates.size() > spec.segments) {
    traffic->message_order = draw_messages(spec, messages.groups(), traffic->flow_order.size(), random);
  }
  if (headers::is_tcp(layout.patch)) number_streams(*traffic, messages.message_bytes());
  traffic->finish();
  return traffic;
}

}  // namespace dpubench::datapath
