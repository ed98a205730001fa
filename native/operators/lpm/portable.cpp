// lpm, engine portable: a table of the first 24 bits, continued in strides of 8 (DIR-24-8 for IPv4).

#include <sys/mman.h>

#include <memory>
#include <new>
#include <numeric>

#include "operators/lpm/lpm.hpp"
#include "operators/support/status.hpp"

namespace dpubench {
namespace {

using lpm::LpmWork;

constexpr std::uint32_t kChild = 0x80000000;  // set: the entry is a node number; clear: a next hop plus one, or 0 for no route
constexpr std::size_t kRootEntries = std::size_t{1} << 24;
constexpr std::size_t kNodeEntries = 256;

/// Zeroed memory on transparent huge pages. The kernel assigns a page only when it is written.
class Table {
 public:
  explicit Table(std::size_t entries) : length_(entries * sizeof(std::uint32_t)) {
    void* memory = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, length_, MADV_HUGEPAGE);
    entries_ = static_cast<std::uint32_t*>(memory);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { munmap(entries_, length_); }
  [[nodiscard]] std::uint32_t* entries() const { return entries_; }
  [[nodiscard]] std::size_t bytes() const { return length_; }

 private:
  std::size_t length_;
  std::uint32_t* entries_;
};

/// A trie that expands every prefix in the one table where the prefix ends, so that a look-up never turns back.
class Trie {
 public:
  template <class Prefix>
  explicit Trie(const std::vector<Prefix>& routes)
      : root_(kRootEntries), nodes_(kNodeEntries * std::max<std::size_t>(1, lpm::extension_tables(routes))) {
    std::vector<std::size_t> order(routes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Insert the shortest prefixes first. Then a prefix overwrites only less specific ones, and no node lies below the entries
    // that it covers.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return routes[a].length < routes[b].length; });
    for (const std::size_t i : order) insert(lpm::bytes_of(routes[i]).data(), routes[i].length, routes[i].next_hop + 1);
  }

  [[nodiscard]] const std::uint32_t* root() const { return root_.entries(); }
  [[nodiscard]] const std::uint32_t* nodes() const { return nodes_.entries(); }
  [[nodiscard]] std::size_t bytes() const { return root_.bytes() + nodes_.bytes(); }

 private:
  void insert(const std::uint8_t* address, unsigned length, std::uint32_t value) {
    std::uint32_t* table = root_.entries();
    std::size_t index = std::size_t{address[0]} << 16 | std::size_t{address[1]} << 8 | address[2];
    unsigned end = 24;  // bits that `table` resolves
    for (; length > end; end += 8) {
      std::uint32_t& entry = table[index];
      if ((entry & kChild) == 0) {  // a new node inherits the route that ends above it
        std::fill_n(nodes_.entries() + std::size_t{used_} * kNodeEntries, kNodeEntries, entry);
        entry = kChild | used_++;
      }
      table = nodes_.entries() + std::size_t{entry & ~kChild} * kNodeEntries;
      index = address[end / 8];
    }
    std::fill_n(table + index, std::size_t{1} << (end - length), value);
  }

  Table root_;
  Table nodes_;
  std::uint32_t used_ = 0;
};

/// Return the next hop of an entry: the entry minus one, which gives kNoRoute for 0.
std::uint32_t next_hop(std::uint32_t entry) {
  return entry - 1;
}

struct Lookup4 {
  const std::uint32_t* root;
  const std::uint32_t* nodes;

  [[nodiscard]] std::uint32_t first(const std::byte* packet) const { return root[lpm::destination4(packet) >> 8]; }
  [[nodiscard]] std::uint32_t rest(const std::byte* packet, std::uint32_t entry) const {
    if ((entry & kChild) != 0) entry = nodes[std::size_t{entry & ~kChild} * kNodeEntries + (lpm::destination4(packet) & 0xffU)];
    return next_hop(entry);
  }
};

struct Lookup6 {
  const std::uint32_t* root;
  const std::uint32_t* nodes;

  [[nodiscard]] std::uint32_t first(const std::byte* packet) const {
    const std::uint8_t* address = lpm::destination6(packet);
    return root[std::size_t{address[0]} << 16 | std::size_t{address[1]} << 8 | address[2]];
  }
  [[nodiscard]] std::uint32_t rest(const std::byte* packet, std::uint32_t entry) const {
    const std::uint8_t* address = lpm::destination6(packet);
    for (std::size_t i = 3; (entry & kChild) != 0; ++i) entry = nodes[std::size_t{entry & ~kChild} * kNodeEntries + address[i]];
    return next_hop(entry);
  }
};

template <class Lookup>
struct Single {
  Lookup lookup;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = lookup.rest(b.in[i], lookup.first(b.in[i]));
    }
    accept_all(b);
  }
};

/// Bulk look-ups: all first steps before any second one, so that they miss the cache at the same time and not one after the
/// other.
template <class Lookup>
struct Bulk {
  Lookup lookup;

  void operator()(Burst& b) noexcept {
    std::uint32_t entries[kMaxBurst];
    for (std::uint32_t i = 0; i < b.n; ++i) entries[i] = lookup.first(b.in[i]);
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = lookup.rest(b.in[i], entries[i]);
    }
    accept_all(b);
  }
};

class PortableSession final : public Session {
 public:
  explicit PortableSession(const LpmWork& work)
      : v6_(work.v6()), bulk_(work.bulk()), trie_(v6_ ? Trie(work.routes6) : Trie(work.routes4)) {}

  std::unique_ptr<Lane> open() override {
    if (v6_) return lane(Lookup6{trie_.root(), trie_.nodes()});
    return lane(Lookup4{trie_.root(), trie_.nodes()});
  }
  [[nodiscard]] PathInfo path() const override { return {"generic", "24 bits, then strides of 8", false}; }
  [[nodiscard]] std::size_t memory_bytes() const override { return trie_.bytes(); }

 private:
  template <class Lookup>
  std::unique_ptr<Lane> lane(Lookup lookup) const {
    if (bulk_) return std::make_unique<SyncLane<Bulk<Lookup>>>(Bulk<Lookup>{lookup});
    return std::make_unique<SyncLane<Single<Lookup>>>(Single<Lookup>{lookup});
  }

  bool v6_;
  bool bulk_;
  Trie trie_;
};

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"lpm", "portable", "table of 24 bits, continued in strides of 8 (DIR-24-8)", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<PortableSession>(lpm::table_of(work));
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
