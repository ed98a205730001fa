// Reads BGP prefix lists. Lines are `prefix/len,next_hop_id`, for example `203.0.113.0/24,64500`. `#` starts a comment. A first
// line that begins with `prefix,` names the columns. Next hops are any numbers up to 2^32-1 (for example the origin AS). The
// parser folds them into dense indexes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::inputs {

struct Prefix4 {
  std::uint32_t address = 0;   ///< host byte order, host bits zero
  std::uint8_t length = 0;     ///< 0..32
  std::uint32_t next_hop = 0;  ///< dense index 0..PrefixList::next_hops-1, in order of first appearance
  bool operator==(const Prefix4&) const = default;
};

struct Prefix6 {
  std::array<std::uint8_t, 16> address{};  ///< network byte order, host bits zero
  std::uint8_t length = 0;                 ///< 0..128
  std::uint32_t next_hop = 0;
  bool operator==(const Prefix6&) const = default;
};

template <class P>
struct PrefixList {
  std::vector<P> prefixes;       ///< unique, in file order; the next hop of the last duplicate counts
  std::uint32_t next_hops = 0;   ///< number of distinct next hops
  std::uint64_t duplicates = 0;  ///< lines that repeat a prefix
};
using PrefixList4 = PrefixList<Prefix4>;
using PrefixList6 = PrefixList<Prefix6>;

/// Parse a list. @throws Error "file:line: ..." with the first ten bad lines (address of the wrong family, length out of range,
/// host bits set, missing or too large next hop), and when there is no prefix
PrefixList4 parse_prefixes4(std::string_view text, const std::string& name);
PrefixList6 parse_prefixes6(std::string_view text, const std::string& name);
PrefixList4 read_prefixes4(const std::filesystem::path& path);
PrefixList6 read_prefixes6(const std::filesystem::path& path);

}  // namespace dpubench::inputs
