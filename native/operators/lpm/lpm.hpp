// The definitions that the lpm operator and its engines share: the routing table of a work, and the place of a packet's
// destination.
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

/// The result for a destination that no route covers.
inline constexpr std::uint32_t kNoRoute = 0xFFFFFFFF;

/// The work of lpm. Engines build their tables from routes4 or routes6; the other one is empty.
class LpmWork final : public Work {
 public:
  std::vector<Prefix4> routes4;
  std::vector<Prefix6> routes6;
  std::uint32_t next_hops = 0;  ///< every next hop is less than this

  [[nodiscard]] bool v6() const { return params.is("ip_version", "6"); }
  [[nodiscard]] bool bulk() const { return params.is("lookup", "bulk"); }
};

inline const LpmWork& table_of(const Work& work) {
  return static_cast<const LpmWork&>(work);
}

/// Return the bytes of the IP header. The destination is its last field.
inline std::size_t header_bytes(const Params& params) {
  return params.is("ip_version", "6") ? 40 : 20;
}

using Address6 = std::array<std::uint8_t, 16>;

/// Return the destination of an IPv4 packet in host byte order (RFC 791 section 3.1).
inline std::uint32_t destination4(const std::byte* packet) {
  std::uint32_t address;
  std::memcpy(&address, packet + 16, sizeof address);
  if constexpr (std::endian::native == std::endian::little) address = __builtin_bswap32(address);
  return address;
}

/// Return the destination of an IPv6 packet in network byte order (RFC 8200 section 3).
inline const std::uint8_t* destination6(const std::byte* packet) {
  return reinterpret_cast<const std::uint8_t*>(packet + 24);
}

/// Return the address as bytes, most significant first.
inline std::array<std::uint8_t, 4> bytes_of(const Prefix4& p) {
  return {static_cast<std::uint8_t>(p.address >> 24), static_cast<std::uint8_t>(p.address >> 16 & 0xffU),
          static_cast<std::uint8_t>(p.address >> 8 & 0xffU), static_cast<std::uint8_t>(p.address & 0xffU)};
}
inline const Address6& bytes_of(const Prefix6& p) {
  return p.address;
}

/// Return the number of 256-entry tables behind a table of 24 bits with strides of 8: one for each distinct first 24, 32, 40 ...
/// bits of the longer prefixes. The DPDK tables need this number in advance.
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

/// Return the routes with a default route (length 0) replaced by its two halves, unless routes of length 1 hide them. rte_lpm and
/// rte_lpm6 take only lengths of 1 and more.
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
