// Regular-expression rule lists: lines `id:/regex/flags` (the format of hsbench); `#` starts a comment line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::inputs {

struct Rule {
  std::uint32_t id = 0;
  std::string pattern;
  std::string flags;  ///< subset of "ismx8WHV..." as in hsbench; each engine documents the flags that it honours
  std::uint32_t line = 0;
};

struct RuleList {
  std::vector<Rule> rules;           ///< unique ids, in file order
  std::vector<std::string> skipped;  ///< "file:line: reason" for lines that are no rule
};

/// Parse a list of rules. @throws Error when no line is a rule
RuleList parse_rules(std::string_view text, const std::string& name);
RuleList read_rules(const std::filesystem::path& path);

}  // namespace dpubench::inputs
