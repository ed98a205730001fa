// Makes frames from captures, as they were recorded.

#include <algorithm>
#include <map>
#include <string>

#include "base/byte_order.hpp"
#include "datapath/client/traffic.hpp"
#include "datapath/frame/trailer.hpp"
#include "packet/frame.hpp"

namespace dpubench::datapath {
namespace {

/// Return the key of one direction of a flow: protocol, addresses and ports as they stand in the frame. A frame that belongs to
/// no flow is a key as a whole.
std::string flow_key(std::span<const std::byte> frame, const packet::Parsed& parsed) {
  const auto part = [&frame](std::size_t at, std::size_t bytes) {
    return std::string(reinterpret_cast<const char*>(frame.data()) + at, bytes);
  };
  if (parsed.version == 0 || parsed.end <= parsed.ip) return part(0, frame.size());
  std::string key(1, static_cast<char>(parsed.protocol));
  key += parsed.version == 4 ? part(parsed.ip + 12U, 8) : part(parsed.ip + 8U, 32);
  if (parsed.kind == packet::Kind::kTransport && parsed.transport + 4U <= frame.size()) key += part(parsed.transport, 4);
  return key;
}

std::uint32_t buffer_bytes(std::size_t ip_bytes) {
  const auto packet = static_cast<std::uint32_t>(kEthernetBytes + ip_bytes);
  const std::uint32_t compact = std::max(packet + kCompactTrailerBytes, kMinFrame - kFcsBytes);
  return compact < kLeastFullFrame ? compact : std::max(packet + kTrailerBytes, kLeastFullFrame);
}

/// Return the packet as it was on the wire. If the capture cut it off, zeros stand for the missing bytes. A packet that says to
/// be longer than it ever was stays as it is, unless its end would lie in the trailer, which is different in every packet.
std::vector<std::byte> whole(std::span<const std::byte> ip, const inputs::Packet& packet, std::uint32_t max_frame) {
  std::vector<std::byte> bytes(ip.begin(), ip.end());
  std::size_t says = bytes.size();
  if (packet.version == 4 && ip.size() >= packet::ip4::kHeader) says = wire::be16(ip, packet::ip4::kTotalLength);
  if (packet.version == 6 && ip.size() >= packet::ip6::kHeader)
    says = packet::ip6::kHeader + wire::be16(ip, packet::ip6::kPayloadLength);
  const std::size_t frame_end = buffer_bytes(bytes.size()) - kEthernetBytes;
  const bool cut_off = says > bytes.size() && (says <= packet.frame_length || says <= frame_end);
  if (cut_off && buffer_bytes(says) + kFcsBytes <= max_frame) bytes.resize(says);
  return bytes;
}

}  // namespace

std::unique_ptr<Traffic> captured_traffic(const TrafficJob& job, inputs::Store& store) {
  const inputs::Capture& capture = store.capture();
  const std::string name = store.identity("capture").name;
  auto traffic = std::make_unique<Traffic>();
  traffic->patch = Patch::kNone;
  std::map<std::string, std::uint32_t> flows;
  std::vector<std::uint64_t> times;
  std::uint64_t too_large = 0;
  for (const inputs::Packet& packet : capture.packets) {
    const std::vector<std::byte> ip = whole(capture.ip(packet), packet, job.max_frame);
    const std::uint32_t bytes = buffer_bytes(ip.size());
    if (bytes + kFcsBytes > job.max_frame || traffic->templates.size() == kMaxTemplates) {
      ++too_large;
      continue;
    }
    std::vector<std::byte> frame = make_frame(ip, packet.version, bytes);
    const auto flow = flows.emplace(flow_key(std::span(frame).first(kEthernetBytes + ip.size()), packet::parse(frame)),
                                    static_cast<std::uint32_t>(flows.size()));
    traffic->templates.push_back({std::move(frame), flow.first->second});
    times.push_back(packet.time_ns);
  }
  if (traffic->templates.empty()) {
    throw Error("capture " + name + ": all " + std::to_string(too_large) + " packets make frames larger than max_frame (" +
                std::to_string(job.max_frame) + " B with FCS and trailer); raise max_frame of client and server");
  }
  if (too_large > 0) {
    traffic->notes.push_back("capture " + name + ": " + std::to_string(too_large) + " of " +
                             std::to_string(capture.packets.size()) + " packets make frames larger than max_frame (" +
                             std::to_string(job.max_frame) + " B with FCS and trailer) and are not sent");
  }
  traffic->slots = static_cast<std::uint32_t>(flows.size());
  traffic->recorded = DueCycle::recorded(times);
  traffic->finish();
  return traffic;
}

}  // namespace dpubench::datapath
