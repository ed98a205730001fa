#include "inputs/traffic.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <unordered_set>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"

namespace dpubench::inputs {

namespace {

using namespace packet;
using wire::put16;

constexpr std::uint32_t kLongest4 = 65535;                 // RFC 791: total length
constexpr std::uint32_t kLongest6 = ip6::kHeader + 65535;  // RFC 8200 section 3: payload length

constexpr std::uint32_t ip_header(const Flow& f) {
  return static_cast<std::uint32_t>(f.version == 4 ? ip4::kHeader : ip6::kHeader);
}
constexpr std::uint32_t shortest(const Flow& f) {
  return ip_header(f) + static_cast<std::uint32_t>(f.protocol == protocol::kTcp ? tcp::kHeader : udp::kHeader);
}

void check(const TrafficModel& model, const std::vector<TrafficModel::SizeShare>& sizes) {
  const auto refuse = [](const std::string& what) { throw Error("traffic model: " + what); };
  if (model.flows == 0) refuse("flows is 0; at least 1 is needed");
  if (model.version != 4 && model.version != 6) refuse("version is " + std::to_string(model.version) + "; it must be 4 or 6");
  if (model.popularity == Popularity::kZipf && !(model.zipf_exponent > 0 && std::isfinite(model.zipf_exponent))) {
    refuse("zipf_exponent is " + std::to_string(model.zipf_exponent) + "; it must be above 0 (use uniform popularity for 0)");
  }
  if (!(model.udp_share >= 0 && model.udp_share <= 1)) {
    refuse("udp_share is " + std::to_string(model.udp_share) + "; it must be from 0 to 1");
  }
  const std::uint32_t longest = model.version == 4 ? kLongest4 : kLongest6;
  double sum = 0;
  for (const auto& [ip_length, weight] : sizes) {
    if (ip_length == 0 || ip_length > longest) {
      refuse("packet size " + std::to_string(ip_length) + " B; an IPv" + std::to_string(model.version) + " packet has 1 to " +
             std::to_string(longest) + " B");
    }
    if (!(weight >= 0) || !std::isfinite(weight))
      refuse("weight of packet size " + std::to_string(ip_length) + " B is negative or not a number");
    sum += weight;
  }
  if (!(sum > 0) || !std::isfinite(sum)) refuse("the weights of the packet sizes must add up to more than 0");
}

/// Draw a flow. Addresses come from the benchmarking ranges, which no network routes: 198.18.0.0/15 (RFC 2544 appendix C.2.2),
/// one half per side, and 2001:2::/48 (RFC 5180 section 8). Ports are spread as RFC 4814 section 4 advises.
Flow draw_flow(const TrafficModel& model, Random& random) {
  Flow flow;
  flow.version = model.version;
  flow.protocol = random.uniform() < model.udp_share ? protocol::kUdp : protocol::kTcp;
  if (model.version == 4) {
    flow.source = {198, 18};
    flow.destination = {198, 19};
    random.fill(std::as_writable_bytes(std::span(flow.source)).subspan(2, 2));
    random.fill(std::as_writable_bytes(std::span(flow.destination)).subspan(2, 2));
  } else {
    flow.source = {0x20, 0x01, 0x00, 0x02};
    flow.destination = flow.source;
    random.fill(std::as_writable_bytes(std::span(flow.source)).subspan(6));
    random.fill(std::as_writable_bytes(std::span(flow.destination)).subspan(6));
  }
  flow.source_port = static_cast<std::uint16_t>(1024 + random.below(65536 - 1024));
  flow.destination_port = static_cast<std::uint16_t>(1 + random.below(49151));
  return flow;
}

/// Return a number that is equal for equal flows.
std::uint64_t fingerprint(const Flow& f) {
  std::uint64_t h = f.protocol;
  const auto mix = [&h](std::uint64_t v) { h = Random(h ^ v).next(); };
  mix(std::uint64_t{f.source_port} << 16 | f.destination_port);
  for (const auto& address : {f.source, f.destination}) {
    for (std::size_t half = 0; half < 16; half += 8) {
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < 8; ++i) word = word << 8 | address[half + i];
      mix(word);
    }
  }
  return h;
}

}  // namespace

std::vector<TrafficModel::SizeShare> TrafficModel::imix() {
  return {{40, 7}, {576, 4}, {1500, 1}};
}

Traffic generate_traffic(const TrafficModel& model, std::size_t packets, Random& random) {
  const std::vector<TrafficModel::SizeShare> sizes = model.sizes.empty() ? TrafficModel::imix() : model.sizes;
  check(model, sizes);
  Traffic traffic;
  traffic.flows.reserve(model.flows);
  // Two flows with the same fingerprint count as equal. This drops a different flow once in 2^64, and never keeps a duplicate.
  std::unordered_set<std::uint64_t> known;
  while (traffic.flows.size() < model.flows) {
    const Flow flow = draw_flow(model, random);
    if (known.insert(fingerprint(flow)).second) traffic.flows.push_back(flow);
  }
  std::vector<double> ends;  // cumulative weights
  double sum = 0;
  for (const auto& size : sizes) ends.push_back(sum += size.weight);
  const Zipf zipf(model.flows, model.popularity == Popularity::kZipf ? model.zipf_exponent : 1.0);
  traffic.packets.reserve(packets);
  for (std::size_t i = 0; i < packets; ++i) {
    const std::uint64_t flow = model.popularity == Popularity::kZipf ? zipf(random) : random.below(model.flows);
    const auto drawn = std::upper_bound(ends.begin(), ends.end(), random.uniform() * sum);
    // If the product is rounded up to the sum, choose the last size that has a weight.
    const auto chosen = drawn == ends.end() ? std::lower_bound(ends.begin(), ends.end(), sum) : drawn;
    const std::uint32_t length = sizes[static_cast<std::size_t>(chosen - ends.begin())].ip_length;
    traffic.packets.push_back({static_cast<std::uint32_t>(flow), std::max(length, shortest(traffic.flows[flow]))});
  }
  return traffic;
}

std::vector<std::byte> make_packet(const Flow& flow, std::uint32_t ip_length, Random& random) {
  if ((flow.version != 4 && flow.version != 6) || (flow.protocol != protocol::kTcp && flow.protocol != protocol::kUdp)) {
    throw std::invalid_argument("make_packet: needs IPv4 or IPv6 and TCP or UDP");
  }
  if (ip_length > (flow.version == 4 ? kLongest4 : kLongest6)) throw std::invalid_argument("make_packet: longer than IP allows");
  const std::uint32_t header = ip_header(flow);
  const std::uint32_t length = std::max(ip_length, shortest(flow));
  const std::uint32_t transport_length = length - header;
  std::vector<std::byte> packet(length);
  const std::span<std::byte> ip(packet);
  const std::size_t address_bytes = flow.version == 4 ? 4 : 16;
  const std::size_t addresses = header - 2 * address_bytes;
  const auto put_address = [&](std::size_t at, const std::array<std::uint8_t, 16>& address) {
    const auto from = std::as_bytes(std::span(address)).first(address_bytes);
    std::copy(from.begin(), from.end(), packet.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put_address(addresses, flow.source);
  put_address(addresses + address_bytes, flow.destination);
  constexpr std::byte kHops{64};
  if (flow.version == 4) {
    ip[0] = std::byte{0x45};
    put16(&ip[ip4::kTotalLength], length);
    // Don't-fragment stays clear, so the packet may be fragmented.
    put16(&ip[ip4::kIdentification], static_cast<std::uint32_t>(random.below(65536)));
    ip[ip4::kTtl] = kHops;
    ip[ip4::kProtocol] = std::byte{flow.protocol};
    checksum::store16(&ip[ip4::kChecksum], checksum::finish(checksum::add(0, ip.data(), ip4::kHeader)));
  } else {
    ip[0] = std::byte{0x60};
    put16(&ip[ip6::kPayloadLength], transport_length);
    ip[ip6::kNextHeader] = std::byte{flow.protocol};
    ip[ip6::kHopLimit] = kHops;
  }

  const std::span<std::byte> transport = ip.subspan(header);
  put16(&transport[0], flow.source_port);
  put16(&transport[2], flow.destination_port);
  const std::size_t field = flow.protocol == protocol::kTcp ? tcp::kChecksum : udp::kChecksum;
  if (flow.protocol == protocol::kTcp) {
    random.fill(transport.subspan(tcp::kSequence, 8));  // sequence and acknowledgement numbers
    transport[tcp::kDataOffset] = std::byte{0x50};      // five words of header
    transport[tcp::kFlags] = std::byte{0x10};           // ACK
    put16(&transport[14], 65535);                       // window
    random.fill(transport.subspan(tcp::kHeader));
  } else {
    put16(&transport[udp::kLength], transport_length);
    random.fill(transport.subspan(udp::kHeader));
  }
  // The pseudo header: addresses, protocol, length (RFC 9293 section 3.1, RFC 8200 section 8.1).
  const checksum::Sum pseudo = checksum::add(checksum::Sum{wire::network16(flow.protocol)} + wire::network32(transport_length),
                                             &ip[addresses], 2 * address_bytes);
  const std::uint16_t sum = checksum::finish(checksum::add(pseudo, transport.data(), transport.size()));
  // RFC 768: a computed zero is sent as all ones, because zero means "no checksum".
  checksum::store16(&transport[field], sum == 0 && flow.protocol == protocol::kUdp ? std::uint16_t{0xffff} : sum);
  return packet;
}

}  // namespace dpubench::inputs
