// Rules compiled by PCRE2, for applications that match text against them.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/rules.hpp"

namespace dpubench::applications {

/// One rule. Matching is bounded, so that no rule can hold a packet for ever. A rule that reaches the bound does not match.
class Expression {
 public:
  /// Return the compiled rule, or null if it cannot be compiled. @param jit  compile to machine code instead of interpreting
  static std::unique_ptr<Expression> compile(const inputs::Rule& rule, bool jit) {
    std::uint32_t options = 0;
    // Patterns match octets. hsbench's flags 8 and W (UTF-8) and its parameters in braces therefore mean nothing here.
    for (const char flag : std::string_view(rule.flags).substr(0, rule.flags.find('{'))) {
      if (flag == 'i') options |= PCRE2_CASELESS;
      if (flag == 's') options |= PCRE2_DOTALL;
      if (flag == 'm') options |= PCRE2_MULTILINE;
      if (flag == 'x') options |= PCRE2_EXTENDED;
    }
    int error = 0;
    PCRE2_SIZE at = 0;
    pcre2_code* const code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rule.pattern.data()), rule.pattern.size(), options, &error, &at, nullptr);
    if (code == nullptr) return nullptr;
    std::unique_ptr<Expression> expression(new Expression(code, rule.id));
    if (jit) pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without JIT support, PCRE2 interprets the code
    return expression;
  }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  ~Expression() {
    pcre2_match_data_free(match_);
    pcre2_match_context_free(context_);
    pcre2_code_free(code_);
  }

  [[nodiscard]] bool matches(std::string_view text) const {
    // PCRE2 refuses a null address, and an empty text may have one.
    const char* const data = text.empty() ? "" : text.data();
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(data), text.size(), 0, 0, match_, context_) >= 0;
  }
  [[nodiscard]] std::uint32_t id() const { return id_; }

 private:
  // The interpreter and the machine code count differently towards the bound. It must lie far above what rules need: otherwise
  // the two would give different results.
  static constexpr std::uint32_t kMatchLimit = 10'000'000;
  Expression(pcre2_code* code, std::uint32_t id)
      : code_(code), match_(pcre2_match_data_create(1, nullptr)), context_(pcre2_match_context_create(nullptr)), id_(id) {
    if (match_ == nullptr || context_ == nullptr) throw std::bad_alloc();
    pcre2_set_match_limit(context_, kMatchLimit);
  }

  pcre2_code* code_;
  pcre2_match_data* match_;
  pcre2_match_context* context_;
  std::uint32_t id_;
};

/// Return the rules that compile, in their order. @param skipped  out: number of rules that did not compile
inline std::vector<std::unique_ptr<Expression>> compile_all(std::span<const inputs::Rule> rules, bool jit,
                                                            std::uint64_t& skipped) {
  std::vector<std::unique_ptr<Expression>> all;
  for (const inputs::Rule& rule : rules) {
    auto expression = Expression::compile(rule, jit);
    if (expression == nullptr) {
      ++skipped;
    } else {
      all.push_back(std::move(expression));
    }
  }
  return all;
}

}  // namespace dpubench::applications
