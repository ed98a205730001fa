// Kernels like those of Crowley et al. 1999, for traces of their instructions (docs/cores-study.md):
//
//     kernels lookup STRUCTURE KEYS ROUTES PREFIXES LOOKUPS BURST SEED
//     kernels md5 BYTES MESSAGES SEED
//
// STRUCTURE: patricia or level-compressed. KEYS: array (of addresses) or packets (of 64 bytes, the address in the IP header).
// Everything is prepared and verified outside the marks. One event on standard output says what was traced.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "crowley/level_compressed.hpp"
#include "crowley/md5.hpp"
#include "inputs/prefixes.hpp"
#include "inputs/random.hpp"
#include "measure/region.hpp"
#include "operators/lpm/patricia_trie.hpp"
#include "operators/md5/md5.hpp"

namespace dpubench::crowley {
namespace {

using inputs::Prefix4;

constexpr std::uint32_t kNoRoute = LevelCompressedTrie::kNoRoute;
constexpr std::size_t kPacketBytes = 64;
constexpr std::size_t kDestinationAt = 16;  // RFC 791 section 3.1
constexpr std::uint64_t kFlows = 100'000;   // as in the operator lpm
constexpr std::size_t kDigestBytes = 16;

/// Return a random subset of `wanted` routes in their order (Knuth, TAOCP volume 2, 3.4.2 algorithm S).
std::vector<Prefix4> choose(const std::vector<Prefix4>& all, std::size_t wanted, inputs::Random& random) {
  if (wanted == 0 || wanted > all.size()) {
    throw Error("PREFIXES is " + std::to_string(wanted) + ", and must be 1 to the " + std::to_string(all.size()) +
                " of the routing table");
  }
  std::vector<Prefix4> chosen;
  for (std::size_t i = 0; i < all.size() && chosen.size() < wanted; ++i) {
    if (random.below(all.size() - i) < wanted - chosen.size()) chosen.push_back(all[i]);
  }
  return chosen;
}

/// Return destinations: flows of Zipf popularity, each to a drawn route, with random host bits.
std::vector<std::uint32_t> destinations(const std::vector<Prefix4>& routes, std::size_t count, inputs::Random& random) {
  std::vector<std::uint32_t> flows(kFlows);
  for (std::uint32_t& flow : flows) {
    const Prefix4& route = routes[random.below(routes.size())];
    const auto host = static_cast<std::uint32_t>(random.next());
    flow = route.length == 32 ? route.address : route.address | (host & (0xFFFFFFFFU >> route.length));
  }
  const inputs::Zipf zipf(kFlows, 1.0);
  std::vector<std::uint32_t> found(count);
  for (std::uint32_t& address : found) address = flows[zipf(random)];
  return found;
}

/// Return the next hop by a search through all routes.
std::uint32_t longest_match(const std::vector<Prefix4>& routes, std::uint32_t address) {
  const Prefix4* best = nullptr;
  for (const Prefix4& p : routes) {
    const bool covers = p.length == 0 || (p.address ^ address) >> (32 - p.length) == 0;
    if (covers && (best == nullptr || p.length > best->length)) best = &p;
  }
  return best == nullptr ? kNoRoute : best->next_hop;
}

class Patricia {
 public:
  explicit Patricia(const std::vector<Prefix4>& routes) {
    for (const Prefix4& p : routes) trie_.insert({{p.address}}, p.length, p.next_hop);
  }
  [[nodiscard]] std::uint32_t look_up(std::uint32_t address) const noexcept { return trie_.look_up({{address}}); }

 private:
  lpm::Trie<lpm::Key<std::uint32_t, 1>, kNoRoute> trie_;
};

/// Keys that lie side by side.
struct Array {
  explicit Array(const std::vector<std::uint32_t>& addresses) : keys(addresses) {}
  [[nodiscard]] std::uint32_t operator[](std::size_t i) const { return keys[i]; }
  static constexpr std::size_t kBytes = sizeof(std::uint32_t);
  std::vector<std::uint32_t> keys;
};

/// Keys in the headers of packets, each in a buffer of its own.
struct Packets {
  explicit Packets(const std::vector<std::uint32_t>& addresses) : memory(addresses.size() * kPacketBytes) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const std::uint32_t big_endian = __builtin_bswap32(addresses[i]);
      std::memcpy(&memory[i * kPacketBytes + kDestinationAt], &big_endian, sizeof big_endian);
    }
  }
  [[nodiscard]] std::uint32_t operator[](std::size_t i) const {
    std::uint32_t address;
    std::memcpy(&address, __builtin_assume_aligned(&memory[i * kPacketBytes + kDestinationAt], 4), sizeof address);
    return __builtin_bswap32(address);
  }
  static constexpr std::size_t kBytes = kPacketBytes;
  std::vector<std::byte> memory;
};

template <class Structure, class Keys>
[[gnu::noinline]] void look_up_all(const Structure& structure, const Keys& keys, std::vector<std::uint32_t>& results,
                                   std::size_t burst) {
  const std::size_t count = results.size();
  std::uint32_t* const into = results.data();
  measure::open_region();
  for (std::size_t i = 0; i < count;) {
    measure::next_message();
    for (std::size_t end = i + burst; i < end; ++i) into[i] = structure.look_up(keys[i]);
  }
  measure::close_region();
}

void report(std::size_t operations, std::size_t in_bytes, std::size_t out_bytes, std::size_t compared) {
  std::printf("{\"event\":\"traced\",\"operations\":%zu,\"in_bytes\":%zu,\"out_bytes\":%zu,\"compared\":%zu}\n", operations,
              in_bytes, out_bytes, compared);
}

template <class Structure, class Keys>
void trace_look_ups(const std::vector<Prefix4>& routes, const std::vector<std::uint32_t>& addresses, std::size_t burst) {
  const Structure structure(routes);
  const Keys keys(addresses);
  std::vector<std::uint32_t> results(addresses.size(), kNoRoute - 1);
  look_up_all(structure, keys, results, burst);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (const std::uint32_t wanted = longest_match(routes, addresses[i]); results[i] != wanted) {
      throw Error("look-up " + std::to_string(i) + " gives next hop " + std::to_string(results[i]) + " instead of " +
                  std::to_string(wanted));
    }
  }
  report(addresses.size(), addresses.size() * Keys::kBytes, addresses.size() * sizeof(std::uint32_t), addresses.size());
}

template <class Structure>
void trace_keys(std::string_view keys, const std::vector<Prefix4>& routes, const std::vector<std::uint32_t>& addresses,
                std::size_t burst) {
  if (keys == "array") return trace_look_ups<Structure, Array>(routes, addresses, burst);
  if (keys == "packets") return trace_look_ups<Structure, Packets>(routes, addresses, burst);
  throw Error("KEYS is '" + std::string(keys) + "', and must be array or packets");
}

std::size_t number(const char* text, const char* name) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0' || *text == '-') throw Error(std::string(name) + " is '" + text + "', and must be a number");
  return value;
}

void look_up(char** words) {
  const std::string_view structure = words[0];
  const std::size_t prefixes = number(words[3], "PREFIXES");
  const std::size_t burst = number(words[5], "BURST");
  const std::size_t lookups = number(words[4], "LOOKUPS");
  if (burst == 0 || lookups == 0) throw Error("LOOKUPS and BURST must be at least 1");
  inputs::Random random(number(words[6], "SEED"));
  const std::vector<Prefix4> routes = choose(inputs::read_prefixes4(words[2]).prefixes, prefixes, random);
  const std::vector<std::uint32_t> addresses = destinations(routes, (lookups + burst - 1) / burst * burst, random);
  if (structure == "patricia") return trace_keys<Patricia>(words[1], routes, addresses, burst);
  if (structure == "level-compressed") return trace_keys<LevelCompressedTrie>(words[1], routes, addresses, burst);
  throw Error("STRUCTURE is '" + std::string(structure) + "', and must be patricia or level-compressed");
}

[[gnu::noinline]] void digest_all(const std::byte* messages, std::size_t bytes, std::vector<Md5::Digest>& digests) {
  measure::open_region();
  for (std::size_t i = 0; i < digests.size(); ++i) {
    measure::next_message();
    digests[i] = Md5::of({messages + i * bytes, bytes});
  }
  measure::close_region();
}

void digest(char** words) {
  const std::size_t bytes = number(words[0], "BYTES");
  const std::size_t count = number(words[1], "MESSAGES");
  if (bytes == 0 || count == 0) throw Error("BYTES and MESSAGES must be at least 1");
  inputs::Random random(number(words[2], "SEED"));
  std::vector<std::byte> messages(bytes * count);
  random.fill(messages);
  std::vector<Md5::Digest> digests(count);
  digest_all(messages.data(), bytes, digests);
  for (std::size_t i = 0; i < count; ++i) {
    if (digests[i] != dpubench::Md5::of({messages.data() + i * bytes, bytes}))
      throw Error("the digest of message " + std::to_string(i) + " differs from that of the operator md5");
  }
  report(count, bytes * count, kDigestBytes * count, count);
}

void run(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "lookup" && argc == 9) return look_up(argv + 2);
  if (what == "md5" && argc == 5) return digest(argv + 2);
  throw Error("the arguments are `lookup STRUCTURE KEYS ROUTES PREFIXES LOOKUPS BURST SEED` or `md5 BYTES MESSAGES SEED`");
}

}  // namespace
}  // namespace dpubench::crowley

int main(int argc, char** argv) {
  try {
    dpubench::crowley::run(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernels: %s\n", error.what());
    return 2;
  }
}
