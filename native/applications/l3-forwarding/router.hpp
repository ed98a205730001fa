// Routes frames and counts their outcomes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "applications/l3-forwarding/trie.hpp"

namespace dpubench::applications {

/// The outcome of a frame. The set is closed. Reports use these names.
enum class Outcome : std::uint8_t {
  kForwarded,
  kNotIp,     ///< neither IPv4 nor IPv6 behind the link-layer header
  kShort,     ///< shorter than the headers it must have
  kVersion,   ///< the header's version disagrees with the frame's type
  kHeader,    ///< header length below 20 bytes or above the packet's length
  kLength,    ///< the packet is longer than its frame, or shorter than its header
  kChecksum,  ///< wrong checksum of the IPv4 header
  kAddress,   ///< a source or destination that no router forwards
  kExpired,   ///< TTL or hop limit used up
  kNoRoute,
};
inline constexpr std::size_t kOutcomes = 10;
inline constexpr std::array<std::string_view, kOutcomes> kOutcomeNames = {
    "forwarded", "not_ip", "short", "version", "header", "length", "checksum", "address", "expired", "no_route"};

inline constexpr std::uint32_t kNextHops = 64;

/// The position of a frame's network header, and its type (0: cut off).
struct NetworkHeader {
  std::uint32_t type = 0;
  std::size_t at = 0;
};
/// Find the network header behind up to two tags (IEEE 802.1Q, clause 9).
NetworkHeader network_header(std::span<const std::byte> frame);

struct HopCounters {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  ///< bytes of IP packets
};

class Router {
 public:
  Router(std::vector<Route> routes4, std::vector<Route> routes6) : table4_(std::move(routes4)), table6_(std::move(routes6)) {}

  /// Route one frame. @param frame  untrusted @param link_type  Ethernet, or another type that `unwrap` knows
  /// @param out  receives the sent frame: an Ethernet header without tags, and the packet without link padding
  Outcome forward(std::span<const std::byte> frame, std::uint32_t link_type, std::vector<std::byte>& out);
  [[nodiscard]] const std::array<HopCounters, kNextHops>& hops() const { return hops_; }

 private:
  Outcome forward4(std::span<const std::byte> ip, std::vector<std::byte>& out);
  Outcome forward6(std::span<const std::byte> ip, std::vector<std::byte>& out);
  std::byte* send(std::span<const std::byte> ip, std::uint32_t type, std::uint32_t hop, std::vector<std::byte>& out);

  Trie<24> table4_;
  Trie<16> table6_;
  std::array<HopCounters, kNextHops> hops_{};
};

}  // namespace dpubench::applications
