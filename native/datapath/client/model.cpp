// Frames of the traffic model.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "datapath/client/headers.hpp"
#include "datapath/client/payloads.hpp"
#include "datapath/client/traffic.hpp"
#include "datapath/frame/parse.hpp"

namespace dpubench::datapath {
namespace {

constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
/// Different payloads of a frame size, and as many with a signature.
constexpr std::size_t kPayloads = 8;
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

/// The shortest frame, with FCS, that holds headers, a byte of payload where a message needs one, and the trailer.
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
  if (spec.frame_sizes.empty()) throw Error("traffic/frame_sizes: there is none; give [[64, 1]]");
  const std::uint32_t least = least_frame(layout.headers, spec.segments > 1 ? 1 : 0);
  for (const auto& [size, weight] : spec.frame_sizes) {
    if (size < least) {
      throw Error("traffic/frame_sizes: " + std::to_string(size) + " B hold no " + spec.protocol + " packet of IPv" +
                  std::to_string(spec.version) + " with its trailer; the least frame is " + std::to_string(least) +
                  " B with FCS");
    }
  }
  if (spec.segments > 1 && spec.protocol != "tcp") {
    throw Error("traffic/segments: " + std::to_string(spec.segments) +
                " segments of a message are those of TCP; set protocol to tcp");
  }
}

/// Messages of one frame size: for each `segments` templates.
class Builder {
 public:
  Builder(const TrafficSpec& spec, const Layout& layout, const FlowSpace& space, inputs::Random random)
      : spec_(spec),
        layout_(layout),
        flow_(space.tuple(0, static_cast<std::uint8_t>(spec.version), spec.protocol == "tcp" ? kTcp : kUdp)),
        random_(random) {}

  /// Appends the templates of a message. The first segment goes first, so that a receiver knows where the stream begins; the
  /// others are shuffled.
  void append(Traffic& traffic, std::span<const std::byte> message, std::uint32_t frame_size) {
    const std::uint32_t bytes = payload_bytes(layout_, frame_size);
    std::vector<std::uint32_t> order(spec_.segments);
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = order.size() - 1; i > 1; --i) std::swap(order[i], order[1 + random_.below(i)]);
    if (order.size() > 2 && std::is_sorted(order.begin(), order.end())) std::swap(order[1], order[2]);
    const auto index = static_cast<std::uint32_t>(traffic.templates.size() / spec_.segments);
    for (const std::uint32_t segment : order) {
      traffic.templates.push_back(
          {frame(message.subspan(std::size_t{segment} * bytes, bytes), segment * bytes, frame_size - kFcsBytes), index});
    }
  }

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
    set_checksums(made, parse(made));
    return made;
  }

  const TrafficSpec& spec_;
  const Layout& layout_;
  inputs::Flow flow_;
  inputs::Random random_;
};

/// Messages of a size: where they begin in the order of messages, and how many have no signature and how many one.
struct Group {
  std::size_t first = 0;
  std::size_t plain = 0;
  std::size_t planted = 0;
};

/// How often each of these weights' entries comes in `total`, to the nearest (largest remainders first).
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

/// A shuffled cycle of messages in which sizes and signatures have their shares.
std::vector<std::uint16_t> draw_messages(const TrafficSpec& spec, std::span<const Group> groups, std::size_t length,
                                         inputs::Random& random) {
  std::vector<double> weights;
  for (const auto& [size, weight] : spec.frame_sizes) weights.push_back(weight);
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

/// How far each slot's TCP stream is at each message of a cycle.
void number_streams(Traffic& traffic, const Layout& layout) {
  traffic.sequence_cycle.assign(traffic.slots, 0);
  traffic.sequence_order.reserve(traffic.flow_order.size());
  for (std::size_t i = 0; i < traffic.flow_order.size(); ++i) {
    std::uint32_t& sent = traffic.sequence_cycle[traffic.flow_order[i]];
    traffic.sequence_order.push_back(sent);
    const std::size_t message = traffic.message_order.empty() ? 0 : traffic.message_order[i];
    const auto frame = static_cast<std::uint32_t>(traffic.templates[message * traffic.segments].frame.size()) + kFcsBytes;
    sent += payload_bytes(layout, frame) * traffic.segments;
  }
}

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
  Builder builder(spec, layout, traffic->space, store.random("traffic-frames"));
  PayloadSource source(spec.payload, store);
  // Also where no frame has room for a signature: its name stands in the message that says so.
  if (spec.payload.signature_share > 0) (void)store.rules();
  std::vector<Group> groups;
  std::size_t signatures = 0;
  for (const auto& [size, weight] : spec.frame_sizes) {
    const std::uint32_t bytes = payload_bytes(layout, size);
    Group group;
    group.first = traffic->templates.size() / spec.segments;
    // Without a payload they are all alike.
    std::vector<Payload> plain = source.cut(bytes == 0 ? 1 : kPayloads, std::size_t{bytes} * spec.segments);
    std::vector<Payload> planted;
    if (spec.payload.signature_share > 0 && bytes > 0) {
      planted = plant_signatures(source.cut(kPayloads, std::size_t{bytes} * spec.segments), spec.segments > 1 ? bytes : 0, store,
                                 engines);
    }
    if (spec.payload.signature_share > 0 && planted.empty()) {
      traffic->notes.push_back("no signature of the rules fits into the " + std::to_string(bytes) +
                               " B of payload of a frame of " + std::to_string(size) + " B: such frames carry none");
    }
    signatures += planted.size();
    group.plain = plain.size();
    group.planted = planted.size();
    for (const Payload& payload : plain) builder.append(*traffic, payload, size);
    for (const Payload& payload : planted) builder.append(*traffic, payload, size);
    groups.push_back(group);
  }
  if (spec.payload.signature_share > 0 && signatures == 0) {
    throw Error("traffic/payload/signature_share: no signature of " + store.identity("rules").name +
                " fits into the payload of any frame size and matches there; give larger frames or other rules");
  }
  inputs::Random random = store.random("traffic-order");
  const double exponent = spec.popularity == "zipf" ? spec.zipf_exponent : 0;
  traffic->flow_order = draw_flow_order(spec.flows, exponent, random);
  if (traffic->templates.size() > spec.segments) {
    traffic->message_order = draw_messages(spec, groups, traffic->flow_order.size(), random);
  }
  if (headers::is_tcp(layout.patch)) number_streams(*traffic, layout);
  traffic->finish();
  return traffic;
}

}  // namespace dpubench::datapath
