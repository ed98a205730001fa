#include "inputs/rules.hpp"

#include <charconv>
#include <unordered_set>

#include "base/error.hpp"
#include "inputs/file.hpp"

namespace dpubench::inputs {

namespace {

// The flags of hsbench's expression files, and x (extended), which PCRE also knows.
constexpr std::string_view kFlags = "ismx8WHVPLCQ1O";

/// Parse a line into `out`. @returns the fault, or an empty text
std::string parse_line(std::string_view line, Rule& out) {
  const std::size_t colon = line.find(':');
  const char* const id_end = line.data() + (colon == std::string_view::npos ? line.size() : colon);
  const auto [end, error] = std::from_chars(line.data(), id_end, out.id);
  if (colon == std::string_view::npos || end == line.data() || end != id_end) return "does not begin with ID:; write 12:/regex/i";
  if (error != std::errc{}) return "the id must be a number from 0 to 4294967295";
  std::string_view rest = line.substr(colon + 1);
  // The expression may contain slashes. The last slash ends it.
  const std::size_t last = rest.rfind('/');
  if (!rest.starts_with('/') || last == 0) return "the expression is not enclosed in slashes; write 12:/regex/i";
  out.pattern = rest.substr(1, last - 1);
  out.flags = rest.substr(last + 1);
  if (out.pattern.empty()) return "the expression is empty";
  if (out.pattern.find('\0') != std::string::npos) return "the expression holds a NUL byte; write \\x00";
  // hsbench allows parameters in braces after the flags, for example i{min_offset=4}.
  const std::string_view letters = std::string_view(out.flags).substr(0, out.flags.find('{'));
  const bool open = letters.size() < out.flags.size() &&
                    (!out.flags.ends_with('}') || out.flags.find('{', letters.size() + 1) != std::string::npos);
  if (const std::size_t bad = letters.find_first_not_of(kFlags); bad != std::string_view::npos || open) {
    return "the text after the last slash is " + excerpt(out.flags) + ", but flags are letters of " + std::string(kFlags) +
           " and {parameters}; was a closing slash forgotten?";
  }
  return {};
}

}  // namespace

RuleList parse_rules(std::string_view text, const std::string& name) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr std::string_view kBlank = " \t\r";
  constexpr std::size_t kShown = 3;
  if (const std::string hint = unpack_hint(std::as_bytes(std::span(text)), name); !hint.empty())
    throw Error("rules " + name + ": " + hint);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  RuleList list;
  std::unordered_set<std::uint32_t> ids;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    const std::size_t first = line.find_first_not_of(kBlank);
    if (first == std::string_view::npos || line[first] == '#') continue;
    line = line.substr(first, line.find_last_not_of(kBlank) - first + 1);
    Rule rule;
    rule.line = number;
    std::string wrong = parse_line(line, rule);
    if (wrong.empty() && !ids.insert(rule.id).second) wrong = "the id " + std::to_string(rule.id) + " was used before";
    if (wrong.empty()) {
      list.rules.push_back(std::move(rule));
    } else {
      list.skipped.push_back(name + ":" + std::to_string(number) + ": " + wrong);
    }
  }
  if (list.rules.empty()) {
    std::string message = "rules " + name + ": no line is a rule; write lines as 12:/regex/i";
    for (std::size_t i = 0; i < list.skipped.size() && i < kShown; ++i) message += "\n  " + list.skipped[i];
    if (list.skipped.size() > kShown) message += "\n  and " + std::to_string(list.skipped.size() - kShown) + " more";
    throw Error(message);
  }
  return list;
}

RuleList read_rules(const std::filesystem::path& path) {
  return parse_rules(as_text(read_file(path, "rules")), path.string());
}

}  // namespace dpubench::inputs
