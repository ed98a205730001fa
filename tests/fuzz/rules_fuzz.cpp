// Parses any text. The result is a rule list or an Error. Ids must be unique. Every line must be a rule, skipped or without
// content. The written form of a list must parse to the same list.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "check.hpp"
#include "inputs/rules.hpp"

using namespace dpubench::inputs;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    const RuleList list = parse_rules(input, "fuzz");
    FUZZ_CHECK(!list.rules.empty());
    const auto lines = static_cast<std::size_t>(std::count(input.begin(), input.end(), '\n')) + 1;
    FUZZ_CHECK(list.rules.size() + list.skipped.size() <= lines);
    std::set<std::uint32_t> ids;
    std::uint32_t line = 0;
    std::string written;
    for (const Rule& rule : list.rules) {
      FUZZ_CHECK(ids.insert(rule.id).second);
      FUZZ_CHECK(rule.line > line && rule.line <= lines);
      line = rule.line;
      FUZZ_CHECK(!rule.pattern.empty() && rule.pattern.find_first_of(std::string_view("\n\0", 2)) == std::string::npos);
      FUZZ_CHECK(rule.flags.find('/') == std::string::npos);
      written += std::to_string(rule.id) + ":/" + rule.pattern + "/" + rule.flags + "\n";
    }
    const RuleList again = parse_rules(written, "again");
    FUZZ_CHECK(again.skipped.empty());
    FUZZ_CHECK(
        std::equal(list.rules.begin(), list.rules.end(), again.rules.begin(), again.rules.end(),
                   [](const Rule& a, const Rule& b) { return a.id == b.id && a.pattern == b.pattern && a.flags == b.flags; }));
  } catch (const dpubench::Error&) {
    // refused with a message, as it should be
  }
  return 0;
}
