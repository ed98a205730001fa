// The oracle of l3-forwarding: a router as slow and plain as can be. It shares with the router only what unwraps other link types
// than Ethernet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "applications/l3-forwarding/trie.hpp"

namespace dpubench::applications {

/// A longest prefix match that tries every length in turn.
class SlowTable {
 public:
  explicit SlowTable(const std::vector<Route>& routes) {
    for (const Route& route : routes) hops_[route.length][route.address] = route.next_hop;
  }
  [[nodiscard]] std::uint32_t find(std::span<const std::byte> address) const;

 private:
  std::map<std::uint8_t, std::map<std::array<std::uint8_t, 16>, std::uint32_t>> hops_;
};

/// The router that judges the other one.
class Oracle {
 public:
  Oracle(const std::vector<Route>& routes4, const std::vector<Route>& routes6) : four_(routes4), six_(routes6) {}
  /// Next hop and packet.
  using Sent = std::pair<std::uint32_t, std::vector<std::byte>>;
  /// Return what a router sends because of a frame; nothing if it drops the frame.
  [[nodiscard]] std::optional<Sent> forward(std::span<const std::byte> frame, std::uint32_t link_type) const;

 private:
  [[nodiscard]] std::optional<Sent> forward(std::span<const std::byte> ip) const;

  SlowTable four_;
  SlowTable six_;
};

}  // namespace dpubench::applications
