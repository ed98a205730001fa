// What the lpm operator and its engines share: the routing table of a work, and where a packet's destination lies.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "inputs/prefixes.hpp"
#include "operators/engine.hpp"

namespace dpubench::lpm {

using inputs::Prefix4;
using inputs::Prefix6;

/// Result of a destination that no route covers.
inline constexpr std::uint32_t kNoRoute = 0xFFFFFFFF;

/// Carries the table that engines build theirs from: routes4 or routes6, the other is empty.
class LpmWork final : public Work {
 public:
  std::vector<Prefix4> routes4;
  std::vector<Prefix6> routes6;
  std::uint32_t next_hops = 0;  ///< every next hop is below

  [[nodiscard]] bool v6() const { return params.is("ip_version", "6"); }
  [[nodiscard]] bool bulk() const { return params.is("lookup", "bulk"); }
};

inline const LpmWork& table_of(const Work& work) {
  return static_cast<const LpmWork&>(work);
}

/// Bytes of the IP header, which the destination ends.
inline std::size_t header_bytes(const Params& params) {
  return params.is("ip_version", "6") ? 40 : 20;
}

using Address6 = std::array<std::uint8_t, 16>;

/// Destination of an IPv4 packet, host byte order (RFC 791 section 3.1).
inline std::uint32_t destination4(const std::byte* packet) {
  std::uint32_t address;
  std::memcpy(&address, packet + 16, sizeof address);
  if constexpr (std::endian::native == std::endian::little) address = __builtin_bswap32(address);
  return address;
}

/// Destination of an IPv6 packet, network byte order (RFC 8200 section 3).
inline const std::uint8_t* destination6(const std::byte* packet) {
  return reinterpret_cast<const std::uint8_t*>(packet + 24);
}

/// The address as bytes, most significant first.
inline std::array<std::uint8_t, 4> bytes_of(const Prefix4& p) {
  return {static_cast<std::uint8_t>(p.address >> 24), static_cast<std::uint8_t>(p.address >> 16 & 0xffU),
          static_cast<std::uint8_t>(p.address >> 8 & 0xffU), static_cast<std::uint8_t>(p.address & 0xffU)};
}
inline const Address6& bytes_of(const Prefix6& p) {
  return p.address;
}

/// How many 256-entry tables a table of 24 bits and strides of 8 needs: one for each distinct first 24, 32, 40 ... bits that a
/// longer prefix has. The DPDK tables want to know it beforehand.
template <class Prefix>
std::uint32_t extension_tables(const std::vector<Prefix>& routes) {
  using Bytes = std::decay_t<decltype(bytes_of(routes[0]))>;
  std::size_t count = 0;
  for (std::size_t level = 3; level < std::tuple_size_v<Bytes>; ++level) {
    std::vector<Bytes> starts;
    for (const Prefix& p : routes) {
      if (p.length <= level * 8) continue;
      Bytes start{};
      std::copy_n(bytes_of(p).begin(), level, start.begin());
      starts.push_back(start);
    }
    std::sort(starts.begin(), starts.end());
    count += static_cast<std::size_t>(std::unique(starts.begin(), starts.end()) - starts.begin());
  }
  return static_cast<std::uint32_t>(count);
}

/// The routes with a default route (length 0) as its two halves, unless routes of length 1 hide them: rte_lpm and rte_lpm6 take
/// lengths from 1 on.
template <class Prefix>
std::vector<Prefix> without_default(const std::vector<Prefix>& routes) {
  std::vector<Prefix> result;
  for (const Prefix& p : routes) {
    if (p.length > 0) result.push_back(p);
  }
  for (const Prefix& p : routes) {
    if (p.length > 0) continue;
    Prefix half = p;
    half.length = 1;
    const auto hidden = [&] {
      return std::any_of(routes.begin(), routes.end(),
                         [&](const Prefix& other) { return other.length == 1 && other.address == half.address; });
    };
    if (!hidden()) result.push_back(half);
    if constexpr (std::is_same_v<Prefix, Prefix4>) {
      half.address = 0x80000000;
    } else {
      half.address[0] = 0x80;
    }
    if (!hidden()) result.push_back(half);
  }
  return result;
}

}  // namespace dpubench::lpm
