// Writes the fields of a template that differ from packet to packet: addresses, ports, sequence number, and the checksums that
// follow from them. A checksum is computed from the sum of all that stays, never from the bytes (RFC 1624). Sums are of native
// 16-bit words, which one's complement allows (RFC 1071, section 2 B).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datapath/client/traffic.hpp"
#include "packet/headers.hpp"

namespace dpubench::datapath::headers {

inline constexpr std::size_t kIp = kEthernetBytes;
inline constexpr std::size_t kIpChecksum4 = kIp + packet::ip4::kChecksum;
inline constexpr std::size_t kAddresses4 = kIp + packet::ip4::kAddresses;
inline constexpr std::size_t kTransport4 = kIp + packet::ip4::kHeader;
inline constexpr std::size_t kAddresses6 = kIp + packet::ip6::kAddresses;
inline constexpr std::size_t kTransport6 = kIp + packet::ip6::kHeader;
inline constexpr std::size_t kUdpChecksum = packet::udp::kChecksum;
inline constexpr std::size_t kTcpSequence = packet::tcp::kSequence;
inline constexpr std::size_t kTcpChecksum = packet::tcp::kChecksum;

constexpr bool is_tcp(Patch patch) {
  return patch == Patch::kTcp4 || patch == Patch::kTcp6;
}
constexpr bool is_version4(Patch patch) {
  return patch == Patch::kUdp4 || patch == Patch::kTcp4;
}

constexpr std::uint16_t fold(std::uint64_t sum) {
  sum = (sum & 0xffffffffU) + (sum >> 32);
  sum = (sum & 0xffffU) + (sum >> 16 & 0xffffU) + (sum >> 32);
  sum = (sum & 0xffffU) + (sum >> 16);
  return static_cast<std::uint16_t>((sum & 0xffffU) + (sum >> 16));
}
/// Fold a sum of a few dozen words at most.
constexpr std::uint16_t fold_few(std::uint32_t sum) {
  sum = (sum & 0xffffU) + (sum >> 16);
  return static_cast<std::uint16_t>(sum + (sum >> 16));
}
constexpr std::uint64_t words_of(std::uint64_t eight) {
  return (eight & 0xffffU) + (eight >> 16 & 0xffffU) + (eight >> 32 & 0xffffU) + (eight >> 48);
}
constexpr std::uint32_t swapped(std::uint32_t v) {
  return __builtin_bswap32(v);
}
constexpr std::uint32_t swapped16(std::uint32_t v) {
  return __builtin_bswap16(static_cast<std::uint16_t>(v));
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

/// The values of the patched fields in a frame.
struct Patched {
  std::uint64_t address_sum = 0;
  std::uint64_t rest_sum = 0;  ///< ports and sequence number
  std::uint16_t ip_checksum = 0;
  std::uint16_t transport_checksum = 0;
  std::uint32_t sequence = 0;  ///< host byte order
};
inline Patched read(Patch patch, const std::byte* frame) {
  Patched patched;
  const bool v4 = is_version4(patch);
  const std::byte* const transport = frame + (v4 ? kTransport4 : kTransport6);
  if (v4) {
    patched.address_sum = words_of(load<std::uint64_t>(frame + kAddresses4));
    patched.ip_checksum = load<std::uint16_t>(frame + kIpChecksum4);
  } else {
    for (std::size_t i = 0; i < 32; i += 8) patched.address_sum += words_of(load<std::uint64_t>(frame + kAddresses6 + i));
  }
  patched.rest_sum = words_of(load<std::uint32_t>(transport));
  if (is_tcp(patch)) {
    patched.rest_sum += words_of(load<std::uint32_t>(transport + kTcpSequence));
    patched.sequence = swapped(load<std::uint32_t>(transport + kTcpSequence));
  }
  patched.transport_checksum = load<std::uint16_t>(transport + (is_tcp(patch) ? kTcpChecksum : kUdpChecksum));
  return patched;
}

/// The fields that a packet's headers take from its flow.
struct FlowFields {
  std::uint32_t place = 0;
  std::uint32_t ports = 0;  ///< source and destination as they lie in a little-endian packet header
};
constexpr std::uint32_t port_word(std::uint32_t place) {
  const std::array<std::uint32_t, 2> ports = FlowSpace::ports(place);
  // Compilers turn shifts into vector instructions. They do not do that with a swap of bytes.
  const std::uint32_t source = (ports[0] >> 8) | (ports[0] & 0xffU) << 8;
  const std::uint32_t destination = (ports[1] >> 8) | (ports[1] & 0xffU) << 8;
  return source | destination << 16;
}
inline FlowFields fields_of(const FlowSpace& space, std::uint32_t flow) {
  const std::uint32_t place = space.place(flow);
  return {place, port_word(place)};
}

/// The FlowFields of the packets of a burst. They are computed field by field, so that one instruction serves several packets.
class BurstFields {
 public:
  void compute(const FlowSpace& space, std::uint32_t n, const PacketRef* packets) noexcept {
    const FlowSpace flows = space;
    for (std::uint32_t i = 0; i < n; ++i) place_[i] = packets[i].flow;
    for (std::uint32_t i = 0; i < n; ++i) place_[i] = flows.place(place_[i]);
    for (std::uint32_t i = 0; i < n; ++i) ports_[i] = port_word(place_[i]);
  }
  [[nodiscard]] FlowFields operator[](std::uint32_t i) const noexcept { return {place_[i], ports_[i]}; }

 private:
  std::array<std::uint32_t, kMaxPacketBurst> place_;
  std::array<std::uint32_t, kMaxPacketBurst> ports_;
};

/// Write ports, sequence number and checksum. @param address_sum  sum of the addresses in the pseudo header
template <Patch kPatch>
void write_transport(const Shape& shape, const FlowFields& flow, std::uint32_t sequence, std::uint32_t address_sum,
                     std::byte* transport) noexcept {
  store<std::uint32_t>(transport, flow.ports);
  std::uint32_t sum = shape.transport_sum + address_sum + (flow.ports & 0xffffU) + (flow.ports >> 16);
  if constexpr (is_tcp(kPatch)) {
    const std::uint32_t at = swapped(shape.sequence + sequence + FlowSpace::first_sequence(flow.place));
    store<std::uint32_t>(transport + kTcpSequence, at);
    sum += (at & 0xffffU) + (at >> 16);
    store<std::uint16_t>(transport + kTcpChecksum, static_cast<std::uint16_t>(~fold_few(sum)));
  } else {
    const auto checksum = static_cast<std::uint16_t>(~fold_few(sum));
    // A computed zero is sent as all ones (RFC 768).
    store<std::uint16_t>(transport + kUdpChecksum, checksum == 0 ? std::uint16_t{0xffff} : checksum);
  }
}

template <Patch kPatch>
void write4(const Shape& shape, const FlowFields& flow, std::uint32_t sequence, std::byte* frame) noexcept {
  const std::uint64_t addresses = FlowSpace::addresses4(flow.place);
  const std::uint32_t sum = FlowSpace::address_sum4(flow.place);
  store(frame + kIpChecksum4, static_cast<std::uint16_t>(~fold_few(shape.ip_sum + sum)));
  store(frame + kAddresses4, addresses);
  write_transport<kPatch>(shape, flow, sequence, sum, frame + kTransport4);
}

template <Patch kPatch>
void write6(const Shape& shape, const FlowFields& flow, std::uint32_t sequence, std::byte* frame) noexcept {
  const std::array<std::uint64_t, 2> addresses = FlowSpace::addresses6(flow.place);
  store(frame + kAddresses6 + 8, addresses[0]);
  store(frame + kAddresses6 + 24, addresses[1]);
  // The first halves of the addresses are the same in every flow, but they belong to the sum that was subtracted from the
  // template's sum.
  const std::uint64_t prefix = words_of(load<std::uint64_t>(frame + kAddresses6)) * 2;
  const std::uint64_t sum = prefix + words_of(addresses[0]) + words_of(addresses[1]);
  write_transport<kPatch>(shape, flow, sequence, static_cast<std::uint32_t>(sum), frame + kTransport6);
}

}  // namespace dpubench::datapath::headers
