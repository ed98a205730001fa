#include "headroom/packet.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "datapath/frame/trailer.hpp"
#include "headroom/job.hpp"

namespace dpubench::headroom {
namespace {

constexpr std::uint32_t kEthernetBytes = 14;
constexpr std::uint32_t kIpBytes = 20;
/// Largest value of an IPv4 or UDP length field.
constexpr std::uint32_t kMaxLength = 65'535;

void put16(std::vector<std::byte>& packet, std::size_t at, std::uint32_t value) {
  packet[at] = static_cast<std::byte>(value >> 8 & 0xffU);
  packet[at + 1] = static_cast<std::byte>(value & 0xffU);
}

void put_bytes(std::vector<std::byte>& packet, std::size_t at, std::span<const unsigned> bytes) {
  std::transform(bytes.begin(), bytes.end(), packet.begin() + static_cast<std::ptrdiff_t>(at),
                 [](unsigned byte) { return static_cast<std::byte>(byte); });
}

std::uint32_t internet_checksum(const std::vector<std::byte>& packet, std::size_t from, std::size_t bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = from; i < from + bytes; i += 2) {
    sum += std::to_integer<std::uint32_t>(packet[i]) << 8 | std::to_integer<std::uint32_t>(packet[i + 1]);
  }
  while (sum >> 16 != 0) sum = (sum & 0xffffU) + (sum >> 16);
  return ~sum & 0xffffU;
}

}  // namespace

std::vector<std::byte> make_packet(std::uint32_t size, const std::string& destination_mac, unsigned thread) {
  std::vector<std::byte> packet(size);
  std::array<unsigned, 6> to{};
  std::sscanf(destination_mac.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x", &to[0], &to[1], &to[2], &to[3], &to[4], &to[5]);
  put_bytes(packet, 0, to);
  put_bytes(packet, 6, std::array<unsigned, 6>{0x02, 0, 0, 0, 0, 0x01});
  put16(packet, 12, 0x0800);
  put16(packet, kEthernetBytes, 0x4500);
  put16(packet, kEthernetBytes + 2, std::min(size - kEthernetBytes, kMaxLength));
  put16(packet, kEthernetBytes + 8, 0x4011);  // time to live 64, UDP
  // The block of addresses for benchmarks (RFC 2544, appendix C.2.2). The destination is no address of a link that the tool
  // makes: a kernel that received such a packet would answer it (ICMP).
  put_bytes(packet, kEthernetBytes + 12, std::array<unsigned, 8>{198, 18, 0, 1, 198, 19, 0, 2});
  put16(packet, kEthernetBytes + 10, internet_checksum(packet, kEthernetBytes, kIpBytes));
  put16(packet, kEthernetBytes + kIpBytes, 49'152 + thread);
  put16(packet, kEthernetBytes + kIpBytes + 2, 9);  // discard (RFC 863)
  put16(packet, kEthernetBytes + kIpBytes + 4, std::min(size - kEthernetBytes - kIpBytes, kMaxLength));
  // Bytes that differ, so that a device that compresses or a cache line of zeros changes nothing.
  for (std::size_t i = kHeaderBytes; i < packet.size(); ++i) packet[i] = static_cast<std::byte>(i * 167 + 13);
  return packet;
}

void write_number(std::span<std::byte> packet, std::uint32_t trial, unsigned thread, std::uint64_t number) noexcept {
  datapath::write_trailer(packet, {.trial = static_cast<std::uint16_t>(trial), .number = number, .due_ns = 0, .frame = thread});
}

void Tally::add(const Tally& more) noexcept {
  packets += more.packets;
  bytes += more.bytes;
  number_sum += more.number_sum;
  other += more.other;
  stale += more.stale;
}

void count(Tally& tally, std::span<const std::byte> packet, std::uint32_t trial) noexcept {
  const auto trailer = packet.size() < kMinPacket ? std::nullopt : datapath::read_trailer(packet);
  if (!trailer) {
    ++tally.other;
  } else if (trailer->trial != static_cast<std::uint16_t>(trial)) {
    ++tally.stale;
  } else {
    ++tally.packets;
    tally.bytes += packet.size();
    tally.number_sum += trailer->number;
  }
}

std::uint64_t sum_of_numbers(std::uint64_t packets, std::uint64_t reuse) noexcept {
  const std::uint64_t built = packets / reuse;
  const std::uint64_t pairs = built == 0 ? 0 : (built % 2 == 0 ? built / 2 * (built - 1) : (built - 1) / 2 * built);
  return pairs * reuse + built * (packets % reuse);
}

}  // namespace dpubench::headroom
