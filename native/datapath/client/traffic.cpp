#include "datapath/client/traffic.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/byte_order.hpp"
#include "datapath/client/headers.hpp"

namespace dpubench::datapath {
namespace {

/// Return the one's complement sum of a header whose field holds `checksum`, without `patched`.
std::uint16_t without(std::uint16_t checksum, std::uint64_t patched) {
  return headers::fold(std::uint64_t{static_cast<std::uint16_t>(~checksum)} +
                       static_cast<std::uint16_t>(~headers::fold(patched)));
}

}  // namespace

std::vector<std::byte> make_frame(std::span<const std::byte> ip, std::uint8_t version, std::uint32_t length) {
  std::vector<std::byte> frame(length);
  std::memcpy(frame.data(), kServerMac.data(), kServerMac.size());
  std::memcpy(frame.data() + 6, kClientMac.data(), kClientMac.size());
  wire::put16(frame.data() + packet::ethernet::kType, version == 4 ? packet::ethernet::kIp4 : packet::ethernet::kIp6);
  std::copy(ip.begin(), ip.end(), frame.begin() + kEthernetBytes);
  return frame;
}

void Traffic::finish() {
  shapes.clear();
  for (const FrameTemplate& from : templates) {
    Shape shape;
    shape.bytes = from.frame.data();
    shape.length = static_cast<std::uint16_t>(from.frame.size());
    max_frame = std::max(max_frame, shape.length + kFcsBytes);
    if (patch != Patch::kNone) {
      const headers::Patched patched = headers::read(patch, from.frame.data());
      if (patch == Patch::kUdp4 || patch == Patch::kTcp4) shape.ip_sum = without(patched.ip_checksum, patched.address_sum);
      shape.transport_sum = without(patched.transport_checksum, patched.address_sum + patched.rest_sum);
      shape.sequence = patched.sequence;
    }
    shapes.push_back(shape);
  }
}

void Traffic::write_headers(const PacketRef& packet, std::byte* frame) const noexcept {
  const Shape& shape = shapes[packet.index];
  const headers::FlowFields flow = headers::fields_of(space, packet.flow);
  switch (patch) {
    case Patch::kNone:
      return;
    case Patch::kUdp4:
      return headers::write4<Patch::kUdp4>(shape, flow, packet.sequence, frame);
    case Patch::kTcp4:
      return headers::write4<Patch::kTcp4>(shape, flow, packet.sequence, frame);
    case Patch::kUdp6:
      return headers::write6<Patch::kUdp6>(shape, flow, packet.sequence, frame);
    case Patch::kTcp6:
      return headers::write6<Patch::kTcp6>(shape, flow, packet.sequence, frame);
  }
}

std::uint32_t Traffic::slot_of(std::uint64_t number) const noexcept {
  const std::uint64_t message = number / segments % cycle();
  return patch == Patch::kNone ? templates[message].flow : flow_order[message];
}

}  // namespace dpubench::datapath
