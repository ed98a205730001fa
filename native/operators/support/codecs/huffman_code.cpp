#include "operators/support/codecs/huffman_code.hpp"

#include <algorithm>

namespace dpubench {

void HuffmanCode::lengths(std::span<const std::uint32_t> frequencies, unsigned limit, std::span<std::uint8_t> lengths) noexcept {
  std::fill(lengths.begin(), lengths.end(), std::uint8_t{0});
  std::size_t used = 0;
  for (std::size_t symbol = 0; symbol < frequencies.size(); ++symbol) {
    if (frequencies[symbol] != 0) leaves_[used++] = {frequencies[symbol], static_cast<std::uint32_t>(symbol)};
  }
  if (used == 0) return;
  if (used == 1) {
    lengths[leaves_[0].symbol] = 1;
    return;
  }
  std::sort(leaves_.begin(), leaves_.begin() + static_cast<std::ptrdiff_t>(used),
            [](const Leaf& a, const Leaf& b) { return a.weight != b.weight ? a.weight < b.weight : a.symbol < b.symbol; });
  // Huffman's own tree is the best of all. Only if it is too deep does the limit make the code longer.
  if (!unlimited(used, limit, lengths)) package_merge(used, limit, lengths);
}

/// Run Huffman's algorithm with two queues: leaves by weight, and inner nodes, which appear by rising weight. Return whether the
/// tree keeps to the limit.
bool HuffmanCode::unlimited(std::size_t used, unsigned limit, std::span<std::uint8_t> lengths) noexcept {
  const std::size_t inner = used - 1;
  std::size_t leaf = 0;
  std::size_t node = 0;
  for (std::size_t made = 0; made < inner; ++made) {
    std::uint32_t sum = 0;
    for (int child = 0; child < 2; ++child) {
      if (node == made || (leaf < used && leaves_[leaf].weight <= weight_[node])) {
        sum += leaves_[leaf].weight;
        parent_[leaf++] = static_cast<std::uint16_t>(made);
      } else {
        sum += weight_[node];
        parent_[used + node++] = static_cast<std::uint16_t>(made);
      }
    }
    weight_[made] = sum;
  }
  // From the root down. A node's weight is no longer needed, so its depth replaces it.
  weight_[inner - 1] = 0;
  for (std::size_t i = inner - 1; i-- > 0;) weight_[i] = weight_[parent_[used + i]] + 1;
  std::uint32_t deepest = 0;
  for (std::size_t i = 0; i < used; ++i) {
    const std::uint32_t depth = weight_[parent_[i]] + 1;
    deepest = std::max(deepest, depth);
    lengths[leaves_[i].symbol] = static_cast<std::uint8_t>(std::min(depth, std::uint32_t{255}));
  }
  return deepest <= limit;
}

/// Run package-merge (Larmore and Hirschberg, "A fast algorithm for optimal length-limited Huffman codes", JACM 37(3), 1990). The
/// list of a level is the leaves, merged with packages of two neighbours of the level below. Each level takes the first items of
/// its list: 2n - 2 at the top, and below that the contents of the packages taken above. The length of a leaf is the number of
/// lists that take it.
void HuffmanCode::package_merge(std::size_t used, unsigned limit, std::span<std::uint8_t> lengths) noexcept {
  std::size_t below = 0;  // items of the previous level, in list_[level & 1 ^ 1]
  for (unsigned level = 0; level < limit; ++level) {
    const auto& from = list_[(level & 1) ^ 1];
    auto& to = list_[level & 1];
    const std::size_t packages = below / 2;
    std::size_t leaf = 0;
    std::size_t package = 0;
    std::size_t count = 0;
    while (leaf < used || package < packages) {
      const std::uint64_t pair = package < packages ? from[2 * package] + from[2 * package + 1] : ~std::uint64_t{0};
      const bool takes_leaf = leaf < used && leaves_[leaf].weight <= pair;
      to[count] = takes_leaf ? leaves_[leaf].weight : pair;
      is_leaf_[level][count++] = takes_leaf;
      (takes_leaf ? leaf : package) += 1;
    }
    below = count;
  }
  for (std::size_t i = 0; i < used; ++i) lengths[leaves_[i].symbol] = 0;
  std::size_t taken = 2 * used - 2;
  for (unsigned level = limit; level-- > 0 && taken != 0;) {
    const auto begin = is_leaf_[level].begin();
    const auto leaves = static_cast<std::size_t>(std::count(begin, begin + static_cast<std::ptrdiff_t>(taken), true));
    for (std::size_t i = 0; i < leaves; ++i) ++lengths[leaves_[i].symbol];
    taken = 2 * (taken - leaves);
  }
}

void canonical_codes(std::span<const std::uint8_t> lengths, std::span<std::uint16_t> codes) noexcept {
  std::array<std::uint16_t, HuffmanCode::kMaxLimit + 1> next{};
  std::array<std::uint16_t, HuffmanCode::kMaxLimit + 1> count{};
  for (const std::uint8_t length : lengths) ++count[length];
  count[0] = 0;
  for (unsigned bits = 1; bits <= HuffmanCode::kMaxLimit; ++bits) {
    next[bits] = static_cast<std::uint16_t>((next[bits - 1] + count[bits - 1]) << 1);
  }
  for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
    unsigned code = next[lengths[symbol]]++;
    unsigned reversed = 0;
    for (unsigned i = 0; i < lengths[symbol]; ++i, code >>= 1) reversed = reversed << 1 | (code & 1);
    codes[symbol] = static_cast<std::uint16_t>(reversed);
  }
}

}  // namespace dpubench
