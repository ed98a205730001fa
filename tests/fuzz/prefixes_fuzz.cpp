// Parses any text. The result is a prefix list or an Error. A list has no duplicates and no host bits, and its written form must
// parse to the same list.
#include <arpa/inet.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "inputs/prefixes.hpp"

using namespace dpubench::inputs;

namespace {

std::string text(const Prefix4& p) {
  std::string s;
  for (int shift = 24; shift >= 0; shift -= 8) s += std::to_string(p.address >> shift & 0xffU) + (shift > 0 ? "." : "");
  return s;
}
std::string text(const Prefix6& p) {
  char s[INET6_ADDRSTRLEN];
  FUZZ_CHECK(inet_ntop(AF_INET6, p.address.data(), s, sizeof s) != nullptr);
  return s;
}

bool bit(const Prefix4& p, unsigned i) {
  return (p.address >> (31 - i) & 1U) != 0;
}
bool bit(const Prefix6& p, unsigned i) {
  return (p.address[i / 8] >> (7 - i % 8) & 1U) != 0;
}

template <class P>
void check(PrefixList<P> (*parse)(std::string_view, const std::string&), std::string_view input, unsigned bits) {
  try {
    const PrefixList<P> list = parse(input, "fuzz");
    FUZZ_CHECK(!list.prefixes.empty());
    std::set<std::pair<decltype(P::address), unsigned>> seen;
    std::uint32_t hops = 0;
    std::string written;
    for (const P& p : list.prefixes) {
      FUZZ_CHECK(p.length <= bits);
      for (unsigned i = p.length; i < bits; ++i) FUZZ_CHECK(!bit(p, i));
      FUZZ_CHECK(seen.emplace(p.address, p.length).second);
      FUZZ_CHECK(p.next_hop <= hops);  // in order of first appearance
      hops += p.next_hop == hops ? 1 : 0;
      written += text(p) + "/" + std::to_string(p.length) + "," + std::to_string(p.next_hop) + "\n";
    }
    FUZZ_CHECK(hops == list.next_hops);
    const PrefixList<P> again = parse(written, "again");
    FUZZ_CHECK(again.prefixes == list.prefixes && again.next_hops == list.next_hops && again.duplicates == 0);
  } catch (const dpubench::Error&) {
    // refused with a message, as it should be
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check<Prefix4>(parse_prefixes4, input, 32);
  check<Prefix6>(parse_prefixes6, input, 128);
  return 0;
}
