// lpm, engine patricia: a binary trie without one-way nodes, the structure of the time before tables of 24 bits (Morrison,
// "PATRICIA", Journal of the ACM 15(4), 1968; for routes Sklower, "A Tree-Based Packet Routing Table for Berkeley Unix", USENIX
// Winter 1991). A look-up compares prefixes on its way down, so it never turns back.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "operators/lpm/lpm.hpp"
#include "operators/support/status.hpp"

namespace dpubench {
namespace {

using lpm::kNoRoute;
using lpm::LpmWork;

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

using Key4 = Key<std::uint32_t, 1>;
using Key6 = Key<std::uint64_t, 2>;

Key4 destination(const std::byte* packet, const Key4& /*kind*/) {
  return {{lpm::destination4(packet)}};
}
Key6 key_of(const std::uint8_t* address) {
  Key6 key;
  std::memcpy(key.words.data(), address, sizeof key.words);
  if constexpr (std::endian::native == std::endian::little) {
    for (std::uint64_t& word : key.words) word = __builtin_bswap64(word);
  }
  return key;
}
Key6 destination(const std::byte* packet, const Key6& /*kind*/) {
  return key_of(lpm::destination6(packet));
}

template <class K>
class Trie {
 public:
  /// A prefix with a route, or a place where prefixes part.
  struct Node {
    K key;
    std::uint32_t length = 0;  ///< bits of the key that count; the next bit selects the child
    std::uint32_t next_hop = kNoRoute;
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
        const std::uint32_t fork = add(key, shared, kNoRoute);
        nodes_[fork].children[nodes_[child].key.bit(shared)] = child;
        nodes_[at].children[way] = fork;
        at = fork;
      } else {
        at = child;
      }
    }
  }

  [[nodiscard]] std::uint32_t look_up(const K& key) const noexcept {
    std::uint32_t best = kNoRoute;
    const Node* node = nodes_.data();
    for (;;) {
      if (node->next_hop != kNoRoute) {
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

template <class K>
struct LookUp {
  const Trie<K>* trie;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) b.result[i] = trie->look_up(destination(b.in[i], K{}));
    accept_all(b);
  }
};

class PatriciaSession final : public Session {
 public:
  explicit PatriciaSession(const LpmWork& work) : v6_(work.v6()) {
    for (const lpm::Prefix4& p : work.routes4) trie4_.insert({{p.address}}, p.length, p.next_hop);
    for (const lpm::Prefix6& p : work.routes6) trie6_.insert(key_of(p.address.data()), p.length, p.next_hop);
  }

  std::unique_ptr<Lane> open() override {
    if (v6_) return std::make_unique<SyncLane<LookUp<Key6>>>(LookUp<Key6>{&trie6_});
    return std::make_unique<SyncLane<LookUp<Key4>>>(LookUp<Key4>{&trie4_});
  }
  [[nodiscard]] PathInfo path() const override { return {"generic", "binary trie without one-way nodes", false}; }
  [[nodiscard]] std::size_t memory_bytes() const override { return v6_ ? trie6_.bytes() : trie4_.bytes(); }

 private:
  bool v6_;
  Trie<Key4> trie4_;
  Trie<Key6> trie6_;
};

class Patricia final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"lpm", "patricia", "binary trie without one-way nodes (PATRICIA)", ""};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    return params.is("lookup", "bulk") ? "look-ups follow pointers, one address at a time: use lookup=single" : "";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<PatriciaSession>(lpm::table_of(work));
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Patricia>());
}
