// The flows of the traffic model: any number of them, none held in memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "inputs/random.hpp"
#include "inputs/traffic.hpp"

namespace dpubench::datapath {

/// The addresses and ports of flow 0, 1, 2 ... 2^32 - 1. They come from a bijective permutation (the finaliser of MurmurHash3),
/// so that any two flows differ in their source or destination address. IPv4 pairs are of 198.18.0.0/16 and 198.19.0.0/16 (RFC
/// 2544, appendix C.2.2), IPv6 addresses are of 2001:2::/48 (RFC 5180, section 8). Ports are spread as RFC 4814, section 4
/// advises.
class FlowSpace {
 public:
  explicit FlowSpace(std::uint64_t seed) : key_(static_cast<std::uint32_t>(inputs::Random(seed).next())) {}

  /// Return a flow's place in the permutation, from which all its fields follow.
  [[nodiscard]] std::uint32_t place(std::uint32_t flow) const noexcept {
    std::uint32_t h = flow ^ key_;
    h ^= h >> 16;
    h *= kFirst;
    h ^= h >> 13;
    h *= kSecond;
    h ^= h >> 16;
    return h;
  }
  [[nodiscard]] std::uint32_t flow_at(std::uint32_t place) const noexcept;

  /// Return the source address in the low half and the destination address in the high half, as they lie in a little-endian
  /// packet header.
  static constexpr std::uint64_t addresses4(std::uint32_t place) noexcept {
    return std::uint64_t{kSource4 | (place & 0xffff0000U)} | std::uint64_t{kDestination4 | place << 16} << 32;
  }
  /// Return the sum of the four words of both addresses.
  static constexpr std::uint32_t address_sum4(std::uint32_t place) noexcept {
    return kSource4 + kDestination4 + (place >> 16) + (place & 0xffffU);
  }
  /// Return the last 8 bytes of both IPv6 addresses. The first 8 bytes are the same in every flow.
  static constexpr std::array<std::uint64_t, 2> addresses6(std::uint32_t place) noexcept {
    return {std::uint64_t{place} * kSpread6, std::uint64_t{~place} * kSpread6};
  }
  /// Return source and destination port, in host byte order.
  static constexpr std::array<std::uint32_t, 2> ports(std::uint32_t place) noexcept {
    const std::uint32_t drawn = place * kSpread;
    return {kLeastSourcePort + ((drawn >> 16) * (65536 - kLeastSourcePort) >> 16), 1 + ((drawn & 0xffffU) * 49151 >> 16)};
  }
  /// Return the first TCP sequence number of a flow.
  static constexpr std::uint32_t first_sequence(std::uint32_t place) noexcept { return place * kSpread; }

  [[nodiscard]] inputs::Flow tuple(std::uint32_t flow, std::uint8_t version, std::uint8_t protocol) const;
  /// Return the only flow that can have a tuple's addresses. Compare with tuple() whether it has them.
  [[nodiscard]] std::uint32_t find_addresses(const inputs::Flow& tuple) const;

 private:
  static constexpr std::uint32_t kFirst = 0x85ebca6b;
  static constexpr std::uint32_t kSecond = 0xc2b2ae35;
  static constexpr std::uint32_t kSpread = 0x9e3779b1;
  static constexpr std::uint64_t kSpread6 = 0x9e3779b97f4a7c15;
  static constexpr std::uint32_t kSource4 = 0x12c6;       // 198.18, little-endian
  static constexpr std::uint32_t kDestination4 = 0x13c6;  // 198.19
  static constexpr std::uint32_t kLeastSourcePort = 1024;
  std::uint32_t key_;
};

/// Return the order in which the flows send: a cycle of flow slots. Uniform: every flow comes equally often in a cycle,
/// shuffled. Zipf: the slots are drawn, and slot 0 is the most popular. @param exponent  0: uniform
std::vector<std::uint32_t> draw_flow_order(std::uint32_t flows, double exponent, inputs::Random& random);

/// The generation of each slot at a time, for flows that end and are replaced. Slots are replaced in turn, so that the flow of
/// a slot is slot + generation * slots.
class Churn {
 public:
  Churn(std::uint32_t slots, double per_second) : slots_(slots), per_ns_(per_second * 1e-9) {}

  /// Move to a time.
  void advance(std::uint64_t due_ns) noexcept {
    if (per_ns_ <= 0) return;
    const auto replaced = static_cast<std::uint64_t>(static_cast<double>(due_ns) * per_ns_);
    if (replaced == replaced_) return;
    replaced_ = replaced;
    generation_ = static_cast<std::uint32_t>(replaced / slots_);
    within_ = static_cast<std::uint32_t>(replaced % slots_);
  }
  [[nodiscard]] std::uint32_t flow_of(std::uint32_t slot) const noexcept {
    return slot + (generation_ + (slot < within_ ? 1U : 0U)) * slots_;
  }
  /// Return how many flows have lived up to the time.
  [[nodiscard]] std::uint64_t flows() const noexcept { return slots_ + replaced_; }

 private:
  std::uint32_t slots_;
  double per_ns_;
  std::uint64_t replaced_ = 0;
  std::uint32_t generation_ = 0;
  std::uint32_t within_ = 0;
};

}  // namespace dpubench::datapath
