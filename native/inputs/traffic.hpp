// Seeded traffic models. They draw the flow and the length of each packet, and its bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "inputs/random.hpp"

namespace dpubench::inputs {

/// A flow's 5-tuple. Addresses are in network byte order (IPv4 in the first four bytes).
struct Flow {
  std::uint8_t version = 4;
  std::uint8_t protocol = 6;
  std::uint16_t source_port = 0;       ///< host byte order
  std::uint16_t destination_port = 0;  ///< host byte order
  std::array<std::uint8_t, 16> source{};
  std::array<std::uint8_t, 16> destination{};
};

enum class Popularity : std::uint8_t { kUniform, kZipf };

struct TrafficModel {
  std::uint32_t flows = 10'000;
  Popularity popularity = Popularity::kZipf;
  double zipf_exponent = 1.0;
  double udp_share = 0.2;  ///< share of UDP flows; the others are TCP
  std::uint8_t version = 4;
  /// An IP packet length and its weight. No sizes mean imix(). A length below the flow's headers is raised to their length.
  struct SizeShare {
    std::uint32_t ip_length;
    double weight;
  };
  std::vector<SizeShare> sizes;

  /// Return Simple IMIX: IP packets of 40, 576 and 1500 bytes in the ratio 7:4:1 (RFC 6985 section 1 calls this mix common).
  static std::vector<SizeShare> imix();
};

struct ModelPacket {
  std::uint32_t flow;       ///< index into Traffic::flows
  std::uint32_t ip_length;  ///< bytes from the IP header on
};

struct Traffic {
  std::vector<Flow> flows;
  std::vector<ModelPacket> packets;
};

/// Draw distinct flows and a sequence of packets, the same for a seed on every platform. @throws Error on an impossible model
Traffic generate_traffic(const TrafficModel& model, std::size_t packets, Random& random);

/// Return an IP packet of a flow: headers with valid checksums, TCP or UDP header, payload drawn from `random`.
/// @param ip_length total length; raised to the headers' length if shorter; at most 65535 (IPv4) or 65575 (IPv6)
std::vector<std::byte> make_packet(const Flow& flow, std::uint32_t ip_length, Random& random);

}  // namespace dpubench::inputs
