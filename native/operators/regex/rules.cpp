#include "operators/regex/rules.hpp"

#include <algorithm>
#include <bitset>
#include <cctype>
#include <map>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "inputs/digest.hpp"

namespace dpubench::regex {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Return the length of the repeat `{n}`, `{n,}` or `{n,m}` at the start of `text`, or 0 if the brace is a literal (pcre2pattern,
/// "Repetition").
std::size_t repeat_length(std::string_view text) {
  std::size_t i = 1;
  const auto digits = [&] {
    const std::size_t from = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i > from;
  };
  if (!text.starts_with('{') || !digits()) return 0;
  if (i < text.size() && text[i] == ',') {
    ++i;
    digits();
  }
  return i < text.size() && text[i] == '}' ? i + 1 : 0;
}

/// Return the offset behind the class that starts at `i`, or npos.
std::size_t class_end(std::string_view p, std::size_t i) {
  ++i;
  if (i < p.size() && p[i] == '^') ++i;
  if (i < p.size() && p[i] == ']') ++i;  // a literal in the first place
  while (i < p.size() && p[i] != ']') {
    if (p[i] == '\\') {
      if (p.substr(i, 2) == "\\Q") {
        const std::size_t end = p.find("\\E", i);
        if (end == std::string_view::npos) return end;
        i = end;
      }
      i += 2;
    } else if (p[i] == '[' && i + 1 < p.size() && p[i + 1] == ':' && p.find(":]", i + 2) != std::string_view::npos) {
      i = p.find(":]", i + 2) + 2;
    } else {
      ++i;
    }
  }
  return i < p.size() ? i + 1 : std::string_view::npos;
}

/// Return the kind of an escape outside a class if not every engine knows it, else null.
const char* screen_escape(char c, std::string_view rest) {
  if (is_digit(c) && c != '0') return "back-reference";
  switch (c) {
    case 'k':
      return "back-reference";
    case 'g':
      return "back-reference or subroutine call";
    case 'K':
      return "\\K";
    case 'C':
      return "\\C";
    case 'G':
      return "\\G";
    case 'R':
      return "\\R";
    case 'X':
      return "\\X";
    case 'N':
      return rest.starts_with('{') ? "\\N{}" : nullptr;
    default:
      return nullptr;
  }
}

/// Return the kind of a group if not every engine knows it, else null. @param rest  the pattern behind "(?"
const char* screen_group(std::string_view rest) {
  const char c = rest.empty() ? '\0' : rest[0];
  const char next = rest.size() > 1 ? rest[1] : '\0';
  if (is_digit(c)) return "recursion";
  switch (c) {
    case '=':
    case '!':
    case '*':
      return "lookahead";
    case '<':
      return next == '=' || next == '!' || next == '*' ? "lookbehind" : nullptr;
    case '>':
      return "atomic group";
    case '(':
      return "conditional group";
    case '|':
      return "branch reset";
    case 'C':
      return "callout";
    case 'R':
    case '&':
    case '+':
      return "recursion";
    case 'P':
      if (next == '=') return "back-reference";
      return next == '>' ? "recursion" : nullptr;
    case ':':
    case '#':
    case '\'':
      return nullptr;
    default:
      break;
  }
  if (c == '-' && is_digit(next)) return "recursion";
  const std::size_t end = rest.find_first_not_of("imsx-");
  return end != std::string_view::npos && (rest[end] == ')' || rest[end] == ':') ? nullptr
                                                                                 : "inline option other than i, m, s, x";
}

/// Walk over a pattern token by token. Return the first construct that not every engine knows, else null. The compilers find
/// faults of syntax.
const char* screen_pattern(std::string_view p, bool extended) {
  std::size_t i = 0;
  while (i < p.size()) {
    const char c = p[i];
    std::size_t repeat = c == '*' || c == '+' || c == '?' ? 1 : c == '{' ? repeat_length(p.substr(i)) : 0;
    if (repeat != 0) {
      i += repeat;
      if (i < p.size() && p[i] == '+') return "possessive repeat";
      if (i < p.size() && p[i] == '?') ++i;
    } else if (c == '\\') {
      if (i + 1 == p.size()) return nullptr;
      if (p[i + 1] == 'Q') {
        const std::size_t end = p.find("\\E", i);
        if (end == std::string_view::npos) return nullptr;
        i = end + 2;
        continue;
      }
      if (const char* reason = screen_escape(p[i + 1], p.substr(i + 2))) return reason;
      i += 2;
    } else if (c == '[') {
      i = class_end(p, i);
      if (i == std::string_view::npos) return nullptr;
    } else if (c == '(' && i + 1 < p.size() && p[i + 1] == '*') {
      return "control verb";
    } else if (c == '(' && i + 1 < p.size() && p[i + 1] == '?') {
      const std::string_view rest = p.substr(i + 2);
      if (const char* reason = screen_group(rest)) return reason;
      if (rest.starts_with('#')) {
        i = p.find(')', i);
        if (i == std::string_view::npos) return nullptr;
        ++i;
        continue;
      }
      const std::size_t flags = rest.find_first_not_of("imsx-");
      if (const std::string_view set = rest.substr(0, flags); set.substr(0, set.find('-')).find('x') != std::string_view::npos)
        extended = true;
      i += 2 + (flags == std::string_view::npos ? 0 : flags + 1);
    } else if (c == '#' && extended) {
      i = p.find('\n', i);
      if (i == std::string_view::npos) return nullptr;
    } else {
      ++i;
    }
  }
  return nullptr;
}

}  // namespace

std::string screen(const inputs::Rule& rule) {
  if (rule.flags.find('{') != std::string::npos) return "parameters in braces after the flags";
  if (rule.flags.find('C') != std::string::npos) return "combination of other rules";
  const char* reason = screen_pattern(rule.pattern, rule.flags.find('x') != std::string::npos);
  return reason == nullptr ? "" : reason;
}

Selection select(const inputs::RuleList& list, const std::string& name) {
  Selection selection;
  std::map<std::string, std::vector<std::uint32_t>> left_out;
  for (const inputs::Rule& rule : list.rules) {
    if (const std::string reason = screen(rule); !reason.empty()) {
      left_out[reason].push_back(rule.id);
      ++selection.left_out;
      continue;
    }
    const auto has = [&](char flag) { return rule.flags.find(flag) != std::string::npos; };
    selection.rules.push_back({rule.id, rule.pattern, has('i'), has('s'), has('m'), has('x'), has('8'), has('W')});
  }
  for (const auto& [reason, ids] : left_out) {
    std::string note = "rules " + name + ": " + std::to_string(ids.size()) + " of " + std::to_string(list.rules.size()) +
                       " left out, because not every engine supports: " + reason + " (id";
    constexpr std::size_t kShown = 20;
    for (std::size_t i = 0; i < std::min(kShown, ids.size()); ++i) note += (i == 0 ? " " : ", ") + std::to_string(ids[i]);
    if (ids.size() > kShown) note += " and " + std::to_string(ids.size() - kShown) + " more";
    selection.notes.push_back(note + ")");
  }
  if (selection.rules.empty()) {
    throw Error("rules " + name + ": none of the " + std::to_string(list.rules.size()) +
                " rules runs on every engine (rules with lookaround, back-references and the like are left out); first reason: " +
                left_out.begin()->first + ": give other rules with --input rules=FILE");
  }
  return selection;
}

std::string hash_of(const std::vector<Rule>& rules) {
  inputs::Sha256 sha;
  for (const Rule& rule : rules) {
    const std::string flags = {rule.caseless ? 'i' : '-', rule.dotall ? 's' : '-', rule.multiline ? 'm' : '-',
                               rule.extended ? 'x' : '-', rule.utf8 ? '8' : '-',   rule.ucp ? 'W' : '-'};
    const std::string text = std::to_string(rule.pattern.size()) + ':' + rule.pattern + flags;
    sha.update(std::as_bytes(std::span(text)));
  }
  return inputs::Sha256::hex(sha.finish());
}

namespace {

using Set = std::bitset<256>;

/// A recursive descent over a pattern that draws while it reads. A repeat reads its atom again for every turn.
class Drawer {
 public:
  Drawer(const Rule& rule, inputs::Random& random) : p_(rule.pattern), extended_(rule.extended), random_(random) {}

  std::optional<Sample> run() {
    sample_.text = alternatives(0);
    if (failed_ || at_ != p_.size() || sample_.text.empty()) return std::nullopt;
    return sample_;
  }

 private:
  static constexpr std::size_t kMaxDepth = 64;
  static constexpr std::size_t kMaxText = 2048;
  static constexpr std::size_t kMaxSteps = 50'000;

  [[nodiscard]] bool more() const { return !failed_ && at_ < p_.size(); }
  [[nodiscard]] char peek() const { return p_[at_]; }
  std::string fail() {
    failed_ = true;
    return {};
  }

  std::string alternatives(std::size_t depth) {
    if (depth > kMaxDepth) return fail();
    std::string chosen;
    for (std::uint64_t seen = 1;; ++seen) {
      const Sample before = sample_;
      std::string one = sequence(depth);
      // Alternatives are read one by one. Each is kept with equal probability (reservoir of one).
      if (random_.below(seen) == 0) {
        chosen = std::move(one);
      } else {
        sample_.at_start = before.at_start;
        sample_.at_end = before.at_end;
      }
      if (!more() || peek() != '|') return chosen;
      ++at_;
    }
  }

  std::string sequence(std::size_t depth) {
    std::string text;
    while (more() && peek() != '|' && peek() != ')') {
      const std::size_t start = at_;
      std::string one = atom(depth);
      if (failed_ || ++steps_ > kMaxSteps) return fail();
      const std::size_t behind = at_;
      const auto [least, most] = repeat();
      const std::size_t end = at_;
      const std::size_t turns = least + static_cast<std::size_t>(random_.below(std::min<std::size_t>(most - least, 3) + 1));
      if (turns > 0) text += one;
      for (std::size_t i = 1; i < turns && !failed_; ++i) {
        at_ = start;
        text += atom(depth);
        if (at_ != behind || text.size() > kMaxText || ++steps_ > kMaxSteps) return fail();
      }
      at_ = end;
      if (text.size() > kMaxText) return fail();
    }
    return text;
  }

  std::pair<std::size_t, std::size_t> repeat() {
    constexpr std::size_t kNoLimit = 1'000'000;
    if (!more()) return {1, 1};
    std::pair<std::size_t, std::size_t> range{1, 1};
    const char c = peek();
    if (c == '*' || c == '+' || c == '?') {
      range = {c == '+' ? 1 : 0, c == '?' ? 1 : kNoLimit};
      ++at_;
    } else if (const std::size_t length = repeat_length(p_.substr(at_)); length != 0) {
      std::size_t numbers[2] = {0, 0};
      std::size_t which = 0;
      bool open = false;
      for (const char d : p_.substr(at_ + 1, length - 2)) {
        if (d == ',') {
          which = 1;
          open = true;
        } else {
          numbers[which] = std::min(numbers[which] * 10 + static_cast<std::size_t>(d - '0'), kNoLimit);
          if (which == 1) open = false;
        }
      }
      range = {numbers[0], which == 0 ? numbers[0] : open ? kNoLimit : numbers[1]};
      at_ += length;
      if (range.second < range.first) range.second = range.first;
    } else {
      return range;
    }
    if (more() && peek() == '?') ++at_;
    return range;
  }

  std::string atom(std::size_t depth) {
    const char c = p_[at_++];
    if (extended_ && std::isspace(static_cast<unsigned char>(c)) != 0) return {};
    switch (c) {
      case '^':
        sample_.at_start = true;
        return {};
      case '$':
        sample_.at_end = true;
        return {};
      case '.':
        return std::string(1, static_cast<char>('a' + random_.below(26)));
      case '(':
        return group(depth);
      case '[':
        return from_class();
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
        return fail();  // a repeat of a repeat, or of nothing
      default: {
        const bool repeats = c == '{' && repeat_length(p_.substr(at_ - 1)) != 0;
        return repeats || (c == '#' && extended_) ? fail() : std::string(1, c);
      }
    }
  }

  std::string group(std::size_t depth) {
    if (more() && peek() == '?') {
      ++at_;
      if (!more()) return fail();
      if (peek() == '#') {
        at_ = std::min(p_.find(')', at_), p_.size() - 1) + 1;
        return {};
      }
      const char end = peek() == '\'' ? '\'' : peek() == '<' || peek() == 'P' ? '>' : ':';
      const std::size_t from = peek() == '\'' ? at_ + 1 : at_;
      const std::size_t close = p_.find_first_of(end == ':' ? ":)" : end == '>' ? ">" : "'", from);
      if (close == std::string_view::npos) return fail();
      if (end == ':' && p_.substr(at_, close - at_).find('x') != std::string_view::npos) extended_ = true;
      at_ = close + 1;
      if (end == ':' && p_[close] == ')') return {};  // (?i): an option for the rest
    }
    std::string text = alternatives(depth + 1);
    if (!more() || peek() != ')') return fail();
    ++at_;
    return text;
  }

  /// Return a member of the set: a printable one if there is any, because payloads are mostly text.
  std::string one_of(const Set& set) {
    std::string printable;
    std::string others;
    for (std::size_t b = 0; b < set.size(); ++b) {
      if (set[b]) (b >= ' ' && b < 0x7F ? printable : others).push_back(static_cast<char>(b));
    }
    const std::string& from = printable.empty() ? others : printable;
    if (from.empty()) return fail();
    return std::string(1, from[random_.below(from.size())]);
  }

  static std::optional<Set> shorthand(char c) {
    Set set;
    for (std::size_t b = 0; b < 128; ++b) {
      const int i = static_cast<int>(b);
      switch (std::tolower(static_cast<unsigned char>(c))) {
        case 'd':
          set[b] = std::isdigit(i) != 0;
          break;
        case 'w':
          set[b] = std::isalnum(i) != 0 || b == '_';
          break;
        case 's':
          set[b] = std::isspace(i) != 0;
          break;
        case 'h':
          set[b] = b == ' ' || b == '\t';
          break;
        case 'v':
          set[b] = b >= '\n' && b <= '\r';
          break;
        default:
          return std::nullopt;
      }
    }
    return c >= 'A' && c <= 'Z' ? ~set : set;
  }

  /// Return the byte that the escape letter `c` stands for; `at_` is behind the letter. Set failed_ if it stands for no byte.
  std::optional<unsigned> escaped_byte(char c) {
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'f':
        return '\f';
      case 'a':
        return '\a';
      case 'e':
        return 0x1B;
      case '0': {
        unsigned value = 0;
        for (int i = 0; i < 2 && more() && peek() >= '0' && peek() <= '7'; ++i)
          value = value * 8 + static_cast<unsigned>(p_[at_++] - '0');
        return value;
      }
      case 'x': {
        const bool braces = more() && peek() == '{';
        const std::size_t limit = braces ? 8 : 2;
        if (braces) ++at_;
        unsigned value = 0;
        for (std::size_t i = 0; i < limit && more() && std::isxdigit(static_cast<unsigned char>(peek())) != 0; ++i) {
          const char d = static_cast<char>(std::tolower(static_cast<unsigned char>(p_[at_++])));
          value = value * 16 + static_cast<unsigned>(is_digit(d) ? d - '0' : d - 'a' + 10);
        }
        if (braces && (!more() || p_[at_++] != '}')) failed_ = true;
        if (value > 255) failed_ = true;
        return value & 0xFFU;
      }
      default:
        break;
    }
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      failed_ = true;
      return std::nullopt;
    }
    return static_cast<unsigned char>(c);
  }

  std::string escape() {
    if (!more()) return fail();
    const char c = p_[at_++];
    switch (c) {
      case 'A':
        sample_.at_start = true;
        return {};
      case 'z':
      case 'Z':
        sample_.at_end = true;
        return {};
      case 'b':
      case 'B':
        return {};
      case 'Q': {
        const std::size_t end = p_.find("\\E", at_);
        if (end == std::string_view::npos) return fail();
        std::string text(p_.substr(at_, end - at_));
        at_ = end + 2;
        return text;
      }
      case 'E':
        return {};
      default:
        break;
    }
    if (const auto set = shorthand(c)) return one_of(*set);
    const auto byte = escaped_byte(c);
    return byte ? std::string(1, static_cast<char>(*byte)) : fail();
  }

  std::string from_class() {
    Set set;
    const bool negated = more() && peek() == '^';
    if (negated) ++at_;
    int low = -1;  // byte that a range may begin with; -1: none
    for (bool first = true; more() && (peek() != ']' || first); first = false) {
      char c = p_[at_++];
      std::optional<unsigned> byte = static_cast<unsigned char>(c);
      if (c == '[' && more() && peek() == ':') {
        const std::size_t end = p_.find(":]", at_);
        if (end == std::string_view::npos || !posix(p_.substr(at_ + 1, end - at_ - 1), set)) return fail();
        at_ = end + 2;
        low = -1;
        continue;
      }
      if (c == '\\') {
        if (!more()) return fail();
        c = p_[at_++];
        if (const auto members = shorthand(c)) {
          set |= *members;
          low = -1;
          continue;
        }
        byte = c == 'b' ? std::optional<unsigned>(8) : escaped_byte(c);
        if (!byte) return fail();
      } else if (c == '-' && low >= 0 && more() && peek() != ']') {
        c = p_[at_++];
        byte = c != '\\' ? std::optional<unsigned>(static_cast<unsigned char>(c))
               : more()  ? escaped_byte(p_[at_++])
                         : std::nullopt;
        if (!byte || static_cast<int>(*byte) < low) return fail();
        for (auto b = static_cast<unsigned>(low); b <= *byte; ++b) set[b] = true;
        low = -1;
        continue;
      }
      set[*byte] = true;
      low = static_cast<int>(*byte);
    }
    if (!more()) return fail();
    ++at_;
    return one_of(negated ? ~set : set);
  }

  static bool posix(std::string_view name, Set& set) {
    static const std::map<std::string_view, int (*)(int)> kNames = {
        {"alnum", std::isalnum}, {"alpha", std::isalpha}, {"digit", std::isdigit}, {"lower", std::islower},
        {"punct", std::ispunct}, {"space", std::isspace}, {"upper", std::isupper}, {"xdigit", std::isxdigit}};
    const auto it = kNames.find(name);
    if (it == kNames.end()) return false;
    for (int b = 0; b < 128; ++b) {
      if (it->second(b) != 0) set[static_cast<std::size_t>(b)] = true;
    }
    return true;
  }

  std::string_view p_;
  bool extended_;
  inputs::Random& random_;
  Sample sample_;
  std::size_t at_ = 0;
  std::size_t steps_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<Sample> draw(const Rule& rule, inputs::Random& random) {
  return Drawer(rule, random).run();
}

}  // namespace dpubench::regex
