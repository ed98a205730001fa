// A level-compressed trie for longest-prefix match of IPv4 addresses (S. Nilsson, G. Karlsson, "IP-Address Lookup Using
// LC-Tries", IEEE Journal on Selected Areas in Communications 17(6), 1999).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "inputs/prefixes.hpp"

namespace dpubench::crowley {

/// A trie in one array of nodes. A node skips bits and then branches on several bits at once; the paper's section III has the
/// structure. Leaves name a route that no other one lies within. Each of those names the next shorter route around it.
class LevelCompressedTrie {
 public:
  /// The result for an address that no route covers.
  static constexpr std::uint32_t kNoRoute = 0xFFFFFFFF;

  explicit LevelCompressedTrie(std::vector<inputs::Prefix4> routes) {
    // In this order a route stands directly before those that lie within it.
    std::sort(routes.begin(), routes.end(),
              [](const auto& a, const auto& b) { return a.address != b.address ? a.address < b.address : a.length < b.length; });
    std::vector<std::uint32_t> around;  // internal routes that hold the one at hand, the longest last
    for (std::size_t i = 0; i < routes.size(); ++i) {
      const inputs::Prefix4& route = routes[i];
      while (!around.empty() && !covers(internal_[around.back()], route.address)) around.pop_back();
      const std::uint32_t next = around.empty() ? kNone : around.back();
      const bool is_internal = i + 1 < routes.size() && covers({route.address, route.length, 0, 0}, routes[i + 1].address);
      const Route made{route.address, route.length, route.next_hop, next};
      if (is_internal) {
        around.push_back(static_cast<std::uint32_t>(internal_.size()));
        internal_.push_back(made);
      } else {
        leaves_.push_back(made);
      }
    }
    nodes_.emplace_back();
    if (leaves_.empty()) {
      leaves_.push_back({0, 0, kNoRoute, kNone});
    } else {
      build(0, 0, leaves_.size(), 0);
    }
  }

  [[nodiscard]] std::uint32_t look_up(std::uint32_t address) const noexcept {
    std::uint32_t node = nodes_[0];
    unsigned position = skip(node);
    while (branch(node) != 0) {
      const unsigned bits = branch(node);
      node = nodes_[first(node) + (address << position >> (kBits - bits))];
      position += bits + skip(node);
    }
    const Route* route = &leaves_[first(node)];
    const std::uint32_t differs = route->address ^ address;
    for (;;) {
      if ((std::uint64_t{differs} >> (kBits - route->length)) == 0) return route->next_hop;
      if (route->next == kNone) return kNoRoute;
      route = &internal_[route->next];  // it has the same bits as far as it goes
    }
  }

  [[nodiscard]] std::size_t nodes() const { return nodes_.size(); }

 private:
  static constexpr unsigned kBits = 32;
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  static constexpr double kFill = 0.5;  ///< least share of a node's children that leaves are below

  struct Route {
    std::uint32_t address = 0;
    std::uint32_t length = 0;
    std::uint32_t next_hop = kNoRoute;
    std::uint32_t next = kNone;  ///< internal route around it
  };

  // A node in 32 bits: branch (5), skip (7), index of the first child or of the leaf (20), as in the paper's figure 5.
  static constexpr unsigned kIndexBits = 20;
  static constexpr unsigned kSkipBits = 7;
  static constexpr std::uint32_t branch(std::uint32_t node) { return node >> (kIndexBits + kSkipBits); }
  static constexpr std::uint32_t skip(std::uint32_t node) { return node >> kIndexBits & ((1U << kSkipBits) - 1); }
  static constexpr std::uint32_t first(std::uint32_t node) { return node & ((1U << kIndexBits) - 1); }
  static constexpr std::uint32_t node_of(std::uint32_t branch, std::uint32_t skip, std::size_t first) {
    return branch << (kIndexBits + kSkipBits) | skip << kIndexBits | static_cast<std::uint32_t>(first);
  }

  static bool covers(const Route& route, std::uint32_t address) {
    return std::uint64_t{route.address ^ address} >> (kBits - route.length) == 0;
  }
  /// Return `bits` bits of an address from `position` on.
  static std::uint32_t extract(std::uint32_t address, unsigned position, unsigned bits) {
    return bits == 0 ? 0 : static_cast<std::uint32_t>(std::uint64_t{address} << (kBits + position) >> (2 * kBits - bits));
  }

  /// Fill node `at` with the leaves [begin, begin + count), which share their first `position` bits.
  void build(std::size_t at, std::size_t begin, std::size_t count, unsigned position) {
    if (count == 1) {
      nodes_[at] = node_of(0, 0, begin);
      return;
    }
    const unsigned skipped =
        static_cast<unsigned>(std::countl_zero(leaves_[begin].address ^ leaves_[begin + count - 1].address)) - position;
    const unsigned from = position + skipped;
    const unsigned bits = branch_of(begin, count, from);
    const std::size_t children = nodes_.size();
    nodes_[at] = node_of(bits, skipped, children);
    nodes_.resize(children + (std::size_t{1} << bits));
    std::size_t next = begin;
    for (std::uint32_t pattern = 0; pattern < 1U << bits; ++pattern) {
      std::size_t own = 0;
      while (next + own < begin + count && extract(leaves_[next + own].address, from, bits) == pattern) ++own;
      if (own > 0) {
        build(children + pattern, next, own, from + bits);
      } else {
        // No leaf begins like this. A neighbour is the leaf: it, or a route around it, is the longest that covers the pattern.
        const std::uint32_t address = high_bits(leaves_[begin].address, from) | pattern << (kBits - from - bits);
        const std::size_t before = next > begin ? next - 1 : begin;
        const std::size_t behind = next < begin + count ? next : begin + count - 1;
        const bool takes_behind = covered(leaves_[behind], address, from + bits) > covered(leaves_[before], address, from + bits);
        nodes_[children + pattern] = node_of(0, 0, takes_behind ? behind : before);
      }
      next += own;
    }
  }

  /// Return the most bits to branch on, so that enough children have leaves.
  [[nodiscard]] unsigned branch_of(std::size_t begin, std::size_t count, unsigned from) const {
    unsigned bits = 1;
    while (from + bits < kBits) {
      const unsigned more = bits + 1;
      std::size_t patterns = 1;
      for (std::size_t i = begin + 1; i < begin + count; ++i) {
        if (extract(leaves_[i].address, from, more) != extract(leaves_[i - 1].address, from, more)) ++patterns;
      }
      if (static_cast<double>(patterns) < kFill * static_cast<double>(std::size_t{1} << more)) break;
      bits = more;
    }
    return bits;
  }

  static std::uint32_t high_bits(std::uint32_t address, unsigned bits) {
    return bits == 0 ? 0 : address >> (kBits - bits) << (kBits - bits);
  }

  /// Return the length of the longest route at or around a leaf that covers all addresses with the first `bits` bits of
  /// `address`, plus one; 0 without any.
  [[nodiscard]] std::uint32_t covered(const Route& leaf, std::uint32_t address, unsigned bits) const {
    for (const Route* route = &leaf;;) {
      if (route->length <= bits && covers(*route, address)) return route->length + 1;
      if (route->next == kNone) return 0;
      route = &internal_[route->next];
    }
  }

  std::vector<std::uint32_t> nodes_;
  std::vector<Route> leaves_;    ///< by address; none lies within another
  std::vector<Route> internal_;  ///< routes around others
};

}  // namespace dpubench::crowley
