#include "applications/ips/literals.hpp"

#include <algorithm>
#include <queue>

namespace dpubench::applications {

namespace {

constexpr std::size_t kShortest = 3;  // shorter literals occur in nearly every text

char small(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Return the position behind the class that begins at `at`, or npos if it does not end.
std::size_t behind_class(std::string_view p, std::size_t at) {
  ++at;
  if (at < p.size() && p[at] == '^') ++at;
  if (at < p.size() && p[at] == ']') ++at;
  for (; at < p.size(); ++at) {
    if (p[at] == '\\') {
      ++at;
    } else if (p[at] == '[' && at + 1 < p.size() && (p[at + 1] == ':' || p[at + 1] == '.' || p[at + 1] == '=')) {
      return std::string_view::npos;  // classes inside classes have their own brackets
    } else if (p[at] == ']') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

std::size_t behind_group(std::string_view p, std::size_t at) {
  for (unsigned depth = 0; at < p.size();) {
    if (p[at] == '\\') {
      at += 2;
    } else if (p[at] == '[') {
      at = behind_class(p, at);
      if (at == std::string_view::npos) return at;
    } else {
      if (p[at] == '(') ++depth;
      if (p[at] == ')' && --depth == 0) return at + 1;
      ++at;
    }
  }
  return std::string_view::npos;
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (small(c) >= 'a' && small(c) <= 'z');
}
bool is_quantifier(char c) {
  return c == '?' || c == '*' || c == '{' || c == '+';
}

}  // namespace

std::string required_literal(const inputs::Rule& rule) {
  const std::string_view p = rule.pattern;
  // Extended patterns contain comments and spaces without meaning. Options, conditions and verbs are too complex for this parser.
  const bool is_understood = rule.flags.find('x') == std::string::npos && p.find("\\Q") == p.npos && p.find("(*") == p.npos &&
                             p.find("(?(") == p.npos && p.find("(?x") == p.npos && p.find("(?i") == p.npos &&
                             p.find("(?s") == p.npos;
  if (!is_understood) return {};
  std::string best;
  std::string run;
  const auto end_run = [&] {
    if (run.size() > best.size()) best = run;
    run.clear();
  };
  for (std::size_t at = 0; at < p.size();) {
    const char c = p[at];
    if (c == '|') return {};  // either side may match
    bool is_literal = false;
    char literal = c;
    std::size_t next = at + 1;
    if (c == '\\') {
      if (next >= p.size()) return {};
      literal = p[next];
      is_literal = !is_alphanumeric(literal);
      // These escapes stand alone. Other escapes with letters take operands, and the operands are no literals.
      static constexpr std::string_view kAlone = "dDwWsShHvVnrtbBAzZ";
      if (!is_literal && kAlone.find(literal) == std::string_view::npos) return {};
      ++next;
    } else if (c == '(') {
      next = behind_group(p, at);
    } else if (c == '[') {
      next = behind_class(p, at);
    } else if (c == '^' || c == '$' || c == '.') {
      // these stand for something else than themselves
    } else if (is_quantifier(c) || c == ')') {
      return {};  // the code below consumes a quantifier together with the item before it
    } else {
      is_literal = static_cast<unsigned char>(c) < 0x80;
    }
    if (next == std::string_view::npos) return {};
    const bool is_quantified = next < p.size() && is_quantifier(p[next]);
    if (is_literal && !is_quantified) run += small(literal);
    if (!is_literal || is_quantified) end_run();
    at = next;
    if (is_quantified) {
      // A brace that does not count is a literal. This parser treats it as a quantifier all the same.
      if (p[at] == '{') {
        at = p.find('}', at);
        if (at == std::string_view::npos) return {};
      }
      ++at;
      if (at < p.size() && (p[at] == '?' || p[at] == '+')) ++at;
    }
  }
  end_run();
  return best.size() < kShortest ? std::string() : best;
}

Literals::Literals(std::span<const std::string> literals) : next_(1), ends_(1), suffix_(1), report_(1), count_(literals.size()) {
  for (std::uint32_t i = 0; i < literals.size(); ++i) {
    if (literals[i].empty()) {
      always_.push_back(i);
    } else {
      ends_[insert(literals[i])].push_back(i);
    }
  }
  connect();
}

/// Add a literal to the automaton. @returns the state at its end
std::uint32_t Literals::insert(std::string_view literal) {
  std::uint32_t state = 0;
  for (const char c : literal) {
    const auto octet = static_cast<unsigned char>(c);
    if (next_[state][octet] == 0) {
      next_[state][octet] = static_cast<std::uint32_t>(next_.size());
      next_.emplace_back();
      ends_.emplace_back();
      suffix_.push_back(0);
      report_.push_back(0);
    }
    state = next_[state][octet];
  }
  return state;
}

void Literals::connect() {
  std::queue<std::uint32_t> waiting;
  for (const std::uint32_t state : next_[0]) {
    if (state != 0) waiting.push(state);
  }
  while (!waiting.empty()) {
    const std::uint32_t state = waiting.front();
    waiting.pop();
    const std::uint32_t suffix = suffix_[state];
    report_[state] = ends_[suffix].empty() ? report_[suffix] : suffix;
    for (unsigned octet = 0; octet < 256; ++octet) {
      std::uint32_t& next = next_[state][octet];
      if (next == 0) {
        next = next_[suffix][octet];
      } else {
        suffix_[next] = next_[suffix][octet];
        waiting.push(next);
      }
    }
  }
  // Uppercase and lowercase letters lead to the same state.
  for (Row& row : next_) {
    for (unsigned c = 'A'; c <= 'Z'; ++c) row[c] = row[c - 'A' + 'a'];
  }
}

void Literals::find(std::string_view text, std::vector<bool>& found) const {
  found.assign(count_, false);
  for (const std::uint32_t literal : always_) found[literal] = true;
  std::uint32_t state = 0;
  for (const char c : text) {
    state = next_[state][static_cast<unsigned char>(c)];
    for (std::uint32_t at = state; at != 0; at = report_[at]) {
      for (const std::uint32_t literal : ends_[at]) found[literal] = true;
    }
  }
}

}  // namespace dpubench::applications
