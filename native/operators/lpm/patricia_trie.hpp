// A binary trie without one-way nodes: the structure of engine patricia, and of the kernels like those of Crowley et al. 1999.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dpubench::lpm {

/// An address as words in host byte order, the most significant first. @tparam Word  32 bits for IPv4 @tparam N  number of words
template <class Word, std::size_t N>
struct Key {
  static constexpr unsigned kWordBits = sizeof(Word) * 8;
  static constexpr unsigned kBits = kWordBits * N;
  std::array<Word, N> words{};

  [[nodiscard]] unsigned bit(unsigned index) const {
    return static_cast<unsigned>(words[index / kWordBits] >> (kWordBits - 1 - index % kWordBits) & 1U);
  }
  /// Return the number of leading bits that both keys share.
  [[nodiscard]] unsigned common(const Key& other) const {
    for (std::size_t i = 0; i < N; ++i) {
      if (const Word differ = words[i] ^ other.words[i]; differ != 0) {
        return static_cast<unsigned>(i) * kWordBits + static_cast<unsigned>(std::countl_zero(differ));
      }
    }
    return kBits;
  }
  /// Return whether both keys begin with the same `length` bits.
  [[nodiscard]] bool begins_as(const Key& other, unsigned length) const {
    for (std::size_t i = 0; i < N && length > 0; ++i) {
      const unsigned bits = std::min(length, kWordBits);
      if ((words[i] ^ other.words[i]) >> (kWordBits - bits) != 0) return false;
      length -= bits;
    }
    return true;
  }
};

/// @tparam NoRoute  the result for a key that no route covers
template <class K, std::uint32_t NoRoute>
class Trie {
 public:
  /// A prefix with a route, or a place where prefixes part.
  struct Node {
    K key;
    std::uint32_t length = 0;  ///< bits of the key that count; the next bit selects the child
    std::uint32_t next_hop = NoRoute;
    std::uint32_t children[2] = {0, 0};  ///< 0: none, because the root is no child
  };

  Trie() : nodes_(1) {}

  /// Insert a route. A prefix that is present already gets the new next hop.
  void insert(const K& key, std::uint32_t length, std::uint32_t next_hop) {
    std::uint32_t at = 0;
    for (;;) {
      if (nodes_[at].length == length) {
        nodes_[at].next_hop = next_hop;
        return;
      }
      const unsigned way = key.bit(nodes_[at].length);
      const std::uint32_t child = nodes_[at].children[way];
      if (child == 0) {
        const std::uint32_t leaf = add(key, length, next_hop);
        nodes_[at].children[way] = leaf;
        return;
      }
      const std::uint32_t shared = std::min({key.common(nodes_[child].key), length, nodes_[child].length});
      if (shared < nodes_[child].length) {  // the prefixes part above the child
        const std::uint32_t fork = add(key, shared, NoRoute);
        nodes_[fork].children[nodes_[child].key.bit(shared)] = child;
        nodes_[at].children[way] = fork;
        at = fork;
      } else {
        at = child;
      }
    }
  }

  [[nodiscard]] std::uint32_t look_up(const K& key) const noexcept {
    std::uint32_t best = NoRoute;
    const Node* node = nodes_.data();
    for (;;) {
      if (node->next_hop != NoRoute) {
        // The bits between nodes were not compared yet. A key that does not begin with this prefix matches none below it either.
        if (!key.begins_as(node->key, node->length)) return best;
        best = node->next_hop;
      }
      if (node->length == K::kBits) return best;
      const std::uint32_t child = node->children[key.bit(node->length)];
      if (child == 0) return best;
      node = &nodes_[child];
    }
  }

  [[nodiscard]] std::size_t bytes() const { return nodes_.size() * sizeof(Node); }

 private:
  std::uint32_t add(const K& key, std::uint32_t length, std::uint32_t next_hop) {
    nodes_.push_back({key, length, next_hop, {0, 0}});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  std::vector<Node> nodes_;
};

}  // namespace dpubench::lpm
