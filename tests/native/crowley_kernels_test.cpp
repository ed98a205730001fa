// Tests of the kernels like those of Crowley et al. 1999: the level-compressed trie against a search, MD5 against RFC 1321.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "crowley/level_compressed.hpp"
#include "crowley/md5.hpp"
#include "inputs/random.hpp"

namespace dpubench::crowley {
namespace {

using inputs::Prefix4;

std::uint32_t longest_match(const std::vector<Prefix4>& routes, std::uint32_t address) {
  const Prefix4* best = nullptr;
  for (const Prefix4& p : routes) {
    const bool covers = p.length == 0 || (p.address ^ address) >> (32 - p.length) == 0;
    if (covers && (best == nullptr || p.length > best->length)) best = &p;
  }
  return best == nullptr ? LevelCompressedTrie::kNoRoute : best->next_hop;
}

std::uint32_t masked(std::uint32_t address, unsigned length) {
  return length == 0 ? 0 : address >> (32 - length) << (32 - length);
}

/// Return distinct routes of lengths up to `longest` that often lie within one another.
std::vector<Prefix4> routes_of(std::size_t count, unsigned longest, inputs::Random& random) {
  std::vector<Prefix4> routes;
  for (std::size_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::uint8_t>(random.below(longest + 1));
    std::uint32_t address = static_cast<std::uint32_t>(random.next());
    if (!routes.empty() && random.below(2) == 0) address ^= (address ^ routes[random.below(routes.size())].address) & 0xfffff000U;
    address = masked(address, length);
    const bool is_known =
        std::any_of(routes.begin(), routes.end(), [&](const Prefix4& p) { return p.address == address && p.length == length; });
    if (!is_known) routes.push_back({address, length, static_cast<std::uint32_t>(i)});
  }
  return routes;
}

TEST(LevelCompressedTrie, FindsTheLongestMatchInAnyTable) {
  inputs::Random random(1);
  for (const std::size_t count : {1U, 2U, 3U, 7U, 50U, 400U}) {
    for (const unsigned longest : {1U, 4U, 12U, 24U, 32U}) {
      for (unsigned table = 0; table < 8; ++table) {
        const std::vector<Prefix4> routes = routes_of(count, longest, random);
        const LevelCompressedTrie trie(routes);
        for (unsigned i = 0; i < 400; ++i) {
          const Prefix4& near = routes[random.below(routes.size())];
          std::uint32_t address = static_cast<std::uint32_t>(random.next());
          // Addresses in a route, just outside one, and anywhere.
          if (i % 3 == 0) address = near.address | (near.length == 32 ? 0 : address >> near.length);
          if (i % 3 == 1) address = near.address - 1;
          ASSERT_EQ(trie.look_up(address), longest_match(routes, address)) << routes.size() << " routes, " << std::hex << address;
        }
      }
    }
  }
}

TEST(LevelCompressedTrie, ATableWithoutRoutesCoversNothing) {
  const LevelCompressedTrie trie({});
  EXPECT_EQ(trie.look_up(0), LevelCompressedTrie::kNoRoute);
  EXPECT_EQ(trie.look_up(0xffffffff), LevelCompressedTrie::kNoRoute);
}

TEST(LevelCompressedTrie, BranchesOnSeveralBitsAtOnce) {
  std::vector<Prefix4> routes;
  for (std::uint32_t i = 0; i < 256; ++i) routes.push_back({i << 24, 8, i});
  const LevelCompressedTrie trie(routes);
  // The root branches on nine bits: then half of its children have leaves, which is just enough.
  EXPECT_EQ(trie.nodes(), 1U + 512U);
  EXPECT_EQ(trie.look_up(0x7f000001), 0x7fU);
}

TEST(Md5ByteWise, GivesTheDigestsOfTheRfc) {
  const auto digest = [](std::string_view message) {
    std::string text;
    for (const std::byte b : Md5::of(std::as_bytes(std::span(message)))) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      text += kDigits[std::to_integer<unsigned>(b) >> 4];
      text += kDigits[std::to_integer<unsigned>(b) & 15U];
    }
    return text;
  };
  // Appendix A.5.
  EXPECT_EQ(digest(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(digest("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(digest("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"), "d174ab98d277d9f5a5611c2c9f419d9f");
  EXPECT_EQ(digest("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

}  // namespace
}  // namespace dpubench::crowley
