// The rules that every regex engine gets: flags in one form, without the constructs that only some engines know, and strings
// drawn from a rule to plant in payloads. Nothing here depends on a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/random.hpp"
#include "inputs/rules.hpp"

namespace dpubench::regex {

/// A rule as engines compile it. It holds only the data that decides whether a payload matches at all. Flags of reporting (H, L,
/// O, P, Q, V, 1) do not affect this, and an empty match counts as a match.
struct Rule {
  std::uint32_t id = 0;
  std::string pattern;
  bool caseless = false;   ///< i
  bool dotall = false;     ///< s: a dot matches a line feed
  bool multiline = false;  ///< m: ^ and $ match at line feeds
  bool extended = false;   ///< x: blanks and comments in the pattern are ignored
  bool utf8 = false;       ///< 8: pattern and payload are UTF-8
  bool ucp = false;        ///< W: \w, \d, \s and POSIX classes by Unicode properties
};

/// Return why no engine gets the rule, or an empty string. Excluded are the constructs in the Hyperscan Developer's Reference
/// Guide, "Unsupported Constructs", and those without a counterpart in PCRE. Engines differ here and no library makes this
/// decision, so it is made here, for a common set.
[[nodiscard]] std::string screen(const inputs::Rule& rule);

struct Selection {
  std::vector<Rule> rules;         ///< in file order
  std::vector<std::string> notes;  ///< one per reason: how many rules were left out, why, and their ids
  std::size_t left_out = 0;
};
/// Return the common rule set. @param name  name of the list, for notes @throws Error when no rule is left
[[nodiscard]] Selection select(const inputs::RuleList& list, const std::string& name);

/// Return the SHA-256 of patterns and flags in order, hex. It is the same for the same work.
[[nodiscard]] std::string hash_of(const std::vector<Rule>& rules);

/// A string that a rule matches, and the place where it must stand.
struct Sample {
  std::string text;
  bool at_start = false;  ///< the pattern is anchored at the start
  bool at_end = false;    ///< the pattern is anchored at the end
};
/// Draw a string from a pattern of literals, classes, groups, alternatives and repeats. Return nullopt if the pattern holds
/// something else, or if the string is empty or too long. The string is meant to match, but only the engines say how many rules a
/// payload hits.
[[nodiscard]] std::optional<Sample> draw(const Rule& rule, inputs::Random& random);

}  // namespace dpubench::regex
