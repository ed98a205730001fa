#include "datapath/client/flows.hpp"

#include <algorithm>
#include <cstring>

namespace dpubench::datapath {
namespace {

constexpr std::array<std::uint8_t, 8> kPrefix6 = {0x20, 0x01, 0x00, 0x02, 0, 0, 0, 0};
/// Least packets of a cycle: enough that no pattern shows, and few enough to stay in the faster levels of memory when there are
/// few flows.
constexpr std::uint64_t kLeastCycle = std::uint64_t{1} << 16;
constexpr std::uint64_t kMostDrawn = std::uint64_t{1} << 24;
constexpr std::uint64_t kDrawsPerFlow = 4;

/// Return the inverse of an odd factor modulo 2^32 (Newton).
constexpr std::uint32_t inverse(std::uint32_t odd) {
  std::uint32_t x = odd;
  for (int i = 0; i < 5; ++i) x *= 2 - odd * x;
  return x;
}

/// A permutation of 0 ... n - 1. It is a permutation of the next power of two, applied again until the result is below n.
class Shuffle {
 public:
  Shuffle(std::uint32_t n, std::uint64_t seed) : n_(n), space_(seed) {
    while ((std::uint64_t{1} << bits_) < n) ++bits_;
  }
  [[nodiscard]] std::uint32_t operator()(std::uint32_t i) const {
    do {
      i = step(i);
    } while (i >= n_);
    return i;
  }

 private:
  [[nodiscard]] std::uint32_t step(std::uint32_t i) const {
    // Three rounds of odd factors and xor-shifts, which are bijective within `bits_`.
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits_) - 1);
    const unsigned half = bits_ / 2 + 1;
    const std::uint32_t key = space_.place(bits_);
    i = (i ^ key) & mask;
    for (const std::uint32_t factor : {0x85ebca6bU, 0xc2b2ae35U, 0x9e3779b1U}) {
      i = (i * factor + key) & mask;
      i ^= i >> half;
    }
    return i;
  }
  std::uint32_t n_;
  unsigned bits_ = 0;
  FlowSpace space_;
};

}  // namespace

std::uint32_t FlowSpace::flow_at(std::uint32_t place) const noexcept {
  std::uint32_t h = place;
  h ^= h >> 16;
  h *= inverse(kSecond);
  h ^= h >> 13 ^ h >> 26;
  h *= inverse(kFirst);
  h ^= h >> 16;
  return h ^ key_;
}

inputs::Flow FlowSpace::tuple(std::uint32_t flow, std::uint8_t version, std::uint8_t protocol) const {
  const std::uint32_t at = place(flow);
  inputs::Flow tuple;
  tuple.version = version;
  tuple.protocol = protocol;
  tuple.source_port = static_cast<std::uint16_t>(ports(at)[0]);
  tuple.destination_port = static_cast<std::uint16_t>(ports(at)[1]);
  if (version == 4) {
    const std::uint64_t both = addresses4(at);
    std::memcpy(tuple.source.data(), &both, 4);
    std::memcpy(tuple.destination.data(), reinterpret_cast<const std::byte*>(&both) + 4, 4);
  } else {
    const std::array<std::uint64_t, 2> both = addresses6(at);
    std::copy(kPrefix6.begin(), kPrefix6.end(), tuple.source.begin());
    std::copy(kPrefix6.begin(), kPrefix6.end(), tuple.destination.begin());
    std::memcpy(tuple.source.data() + 8, &both[0], 8);
    std::memcpy(tuple.destination.data() + 8, &both[1], 8);
  }
  return tuple;
}

std::uint32_t FlowSpace::find_addresses(const inputs::Flow& tuple) const {
  if (tuple.version == 4) {
    std::uint32_t source;
    std::uint32_t destination;
    std::memcpy(&source, tuple.source.data(), 4);
    std::memcpy(&destination, tuple.destination.data(), 4);
    return flow_at((source & 0xffff0000U) | destination >> 16);
  }
  // The low half of a product depends only on the low halves of its factors.
  std::uint32_t source;
  std::memcpy(&source, tuple.source.data() + 8, 4);
  return flow_at(source * inverse(static_cast<std::uint32_t>(kSpread6)));
}

std::vector<std::uint32_t> draw_flow_order(std::uint32_t flows, double exponent, inputs::Random& random) {
  std::vector<std::uint32_t> order;
  if (exponent <= 0) {
    const std::uint64_t rounds = (kLeastCycle + flows - 1) / flows;
    order.reserve(static_cast<std::size_t>(rounds * flows));
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const Shuffle shuffle(flows, random.next());
      for (std::uint32_t i = 0; i < flows; ++i) order.push_back(shuffle(i));
    }
    return order;
  }
  const inputs::Zipf zipf(flows, exponent);
  const std::uint64_t draws = std::clamp(kDrawsPerFlow * flows, kLeastCycle, kMostDrawn);
  order.reserve(static_cast<std::size_t>(draws));
  for (std::uint64_t i = 0; i < draws; ++i) order.push_back(static_cast<std::uint32_t>(zipf(random)));
  return order;
}

}  // namespace dpubench::datapath
