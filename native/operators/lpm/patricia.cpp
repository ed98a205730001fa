// lpm, engine patricia: a binary trie without one-way nodes, the structure of the time before tables of 24 bits (Morrison,
// "PATRICIA", Journal of the ACM 15(4), 1968; for routes Sklower, "A Tree-Based Packet Routing Table for Berkeley Unix", USENIX
// Winter 1991). A look-up compares prefixes on its way down, so it never turns back.

#include <cstdint>
#include <memory>
#include <vector>

#include "operators/lpm/lpm.hpp"
#include "operators/lpm/patricia_trie.hpp"
#include "operators/support/status.hpp"

namespace dpubench {
namespace {

using lpm::kNoRoute;
using lpm::LpmWork;

using Key4 = lpm::Key<std::uint32_t, 1>;
using Key6 = lpm::Key<std::uint64_t, 2>;
template <class K>
using Trie = lpm::Trie<K, kNoRoute>;

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
