// Longest prefix match in a table of the first bits that continues in strides of 8. For IPv4 this is DIR-24-8 (Gupta, Lin and
// McKeown, 1998).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace dpubench::applications {

inline constexpr std::uint32_t kMissed = 0xffffffff;

struct Route {
  std::array<std::uint8_t, 16> address{};  ///< network byte order, host bits zero
  std::uint8_t length = 0;
  std::uint32_t next_hop = 0;
};

/// A table for longest prefix match. @tparam kRootBits  a multiple of 8
template <unsigned kRootBits>
class Trie {
 public:
  /// Build the table. If several routes have the same prefix, the last one counts.
  explicit Trie(std::vector<Route> routes) : root_(zeroed(std::size_t{1} << kRootBits)) {
    // Insert the shortest prefixes first. A prefix then overwrites only less specific ones, and the entries that it covers have
    // no nodes below them yet.
    std::stable_sort(routes.begin(), routes.end(), [](const Route& a, const Route& b) { return a.length < b.length; });
    for (const Route& route : routes) insert(route);
  }

  /// Return the next hop of an address, or kMissed. @param address  network byte order
  [[nodiscard]] std::uint32_t find(const std::uint8_t* address) const {
    std::size_t index = 0;
    for (unsigned i = 0; i < kRootBits / 8; ++i) index = index << 8 | address[i];
    std::uint32_t entry = root_.get()[index];
    for (unsigned i = kRootBits / 8; (entry & kChild) != 0; ++i) entry = nodes_[entry & ~kChild][address[i]];
    return (entry == 0 ? default_ : entry) - 1;
  }

 private:
  /// With this bit, an entry is the number of a node. Without it, an entry is a next hop plus one; 0: no route.
  static constexpr std::uint32_t kChild = 0x80000000;
  using Node = std::array<std::uint32_t, 256>;
  struct Free {
    void operator()(std::uint32_t* memory) const { std::free(memory); }
  };
  using Table = std::unique_ptr<std::uint32_t, Free>;

  /// Return a table of zeros. The kernel gives its pages memory only when they are written.
  static Table zeroed(std::size_t entries) {
    Table table(static_cast<std::uint32_t*>(std::calloc(entries, sizeof(std::uint32_t))));
    if (table == nullptr) throw std::bad_alloc();
    return table;
  }

  void insert(const Route& route) {
    if (route.length == 0) {  // otherwise it would fill the whole table
      default_ = route.next_hop + 1;
      return;
    }
    std::size_t index = 0;
    for (unsigned i = 0; i < kRootBits / 8; ++i) index = index << 8 | route.address[i];
    std::uint32_t* table = root_.get();
    unsigned end = kRootBits;  // bits that `table` resolves
    for (; route.length > end; end += 8) {
      std::uint32_t entry = table[index];
      if ((entry & kChild) == 0) {  // a new node inherits the route that ends above it
        const auto node = static_cast<std::uint32_t>(nodes_.size());
        table[index] = kChild | node;
        nodes_.emplace_back().fill(entry);
        entry = kChild | node;
      }
      table = nodes_[entry & ~kChild].data();
      index = route.address[end / 8];
    }
    std::fill_n(table + index, std::size_t{1} << (end - route.length), route.next_hop + 1);
  }

  Table root_;
  std::uint32_t default_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace dpubench::applications
