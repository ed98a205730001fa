// The rules that every regex engine is given: flags in one form, constructs that only some engines know left out up front, and
// strings drawn from a rule to plant in payloads. Nothing here depends on a library.
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

/// A rule as engines compile it. Only what decides whether a payload matches is kept: flags of reporting (H, L, O, P, Q, V, 1)
/// have no meaning where a rule matches at all or not, and an empty match counts as one.
struct Rule {
  std::uint32_t id = 0;
  std::string pattern;
  bool caseless = false;   ///< i
  bool dotall = false;     ///< s: a dot matches a line feed
  bool multiline = false;  ///< m: ^ and $ match at line feeds
  bool extended = false;   ///< x: blanks and comments in the pattern are passed over
  bool utf8 = false;       ///< 8: pattern and payload are UTF-8
  bool ucp = false;        ///< W: \w, \d, \s and POSIX classes by Unicode properties
};

/// Why a rule is not given to any engine, empty if it is: what the Hyperscan Developer's Reference Guide ("Unsupported
/// Constructs") lists, and what has no counterpart in PCRE. Engines differ here, so that a common set needs a decision that no
/// library makes.
[[nodiscard]] std::string screen(const inputs::Rule& rule);

struct Selection {
  std::vector<Rule> rules;         ///< in file order
  std::vector<std::string> notes;  ///< one per reason: how many rules were left out, why, and their ids
  std::size_t left_out = 0;
};
/// The common rule set. @param name  of the list, for notes. @throws Error when no rule is left
[[nodiscard]] Selection select(const inputs::RuleList& list, const std::string& name);

/// SHA-256 over patterns and flags in order, hex: the same for the same work.
[[nodiscard]] std::string hash_of(const std::vector<Rule>& rules);

/// A string that a rule matches, and where it must stand.
struct Sample {
  std::string text;
  bool at_start = false;  ///< the pattern is anchored at the start
  bool at_end = false;    ///< the pattern is anchored at the end
};
/// Draws a string from a pattern of literals, classes, groups, alternatives and repeats; nullopt where the pattern holds
/// something else or only long strings. What it draws is meant to match; how many rules a payload hits is what the engines say.
[[nodiscard]] std::optional<Sample> draw(const Rule& rule, inputs::Random& random);

}  // namespace dpubench::regex
