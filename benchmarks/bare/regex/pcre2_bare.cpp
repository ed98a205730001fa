// regex: bare loop over pcre2_jit_match.
// requires: libpcre2-8 >= 10.30
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstring>
#include <vector>

#include "../support/bare.hpp"
#include "operators/regex/work.hpp"

namespace dpubench::bare {
namespace {

using regex::RegexWork;

struct Rules {
  std::vector<pcre2_code*> codes;
  std::size_t longest = 0;
  std::size_t bytes = 0;
  bool stream = false;

  Rules() = default;
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;
  ~Rules() {
    for (pcre2_code* code : codes) pcre2_code_free(code);
  }
};

struct MatchLoop {
  explicit MatchLoop(std::shared_ptr<const Rules> shared)
      : rules(std::move(shared)),
        match(pcre2_match_data_create(1, nullptr), &pcre2_match_data_free),
        stack(pcre2_jit_stack_create(32768, 1048576, nullptr), &pcre2_jit_stack_free),
        context(pcre2_match_context_create(nullptr), &pcre2_match_context_free),
        flow(rules->longest) {
    if (match == nullptr || stack == nullptr || context == nullptr) throw Error("PCRE2: out of memory, or a build without JIT");
    pcre2_set_match_limit(context.get(), 100'000);
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const auto* text = reinterpret_cast<PCRE2_SPTR>(b.in[i]);
      std::size_t length = b.in_len[i];
      if (rules->stream) {
        const regex::Segments segments(b.aux[i]);
        length = 0;
        for (std::uint32_t s = 0; s < segments.size(); ++s) {
          std::memcpy(flow.data() + length, b.in[i] + segments[s].offset, segments[s].length);
          length += segments[s].length;
        }
        text = reinterpret_cast<PCRE2_SPTR>(flow.data());
      }
      std::memset(b.out[i], 0, 2 * rules->bytes);
      std::uint64_t hits = 0;
      std::size_t rule = 0;
      for (const pcre2_code* code : rules->codes) {
        const int found = pcre2_jit_match(code, text, length, 0, 0, match.get(), context.get());
        if (found >= 0) {
          regex::set_bit(b.out[i], rule);
          ++hits;
        } else if (found != PCRE2_ERROR_NOMATCH) {
          regex::set_bit(b.out[i] + rules->bytes, rule);
        }
        ++rule;
      }
      b.result[i] = hits;
      b.out_len[i] = static_cast<std::uint32_t>(2 * rules->bytes);
      b.status[i] = kStatusOk;
    }
  }

  std::shared_ptr<const Rules> rules;
  std::shared_ptr<pcre2_match_data> match;
  std::shared_ptr<pcre2_jit_stack> stack;
  std::shared_ptr<pcre2_match_context> context;
  std::vector<std::byte> flow;
};

/// Every rule must compile to JIT code, and where a rule is of UTF-8 the payloads must be: the engine finds out, a bare loop does
/// not.
std::unique_ptr<Session> prepare(const Work& base) {
  const auto& work = static_cast<const RegexWork&>(base);
  const auto rules = std::make_shared<Rules>();
  rules->bytes = regex::bitmap_bytes(work.rules.size());
  rules->stream = work.stream;
  for (const Item& item : work.items) rules->longest = std::max(rules->longest, item.in.size());
  const std::shared_ptr<pcre2_compile_context> context(pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  for (const regex::Rule& rule : work.rules) {
    const std::uint32_t options = PCRE2_NO_AUTO_CAPTURE | (rule.caseless ? PCRE2_CASELESS : 0U) |
                                  (rule.dotall ? PCRE2_DOTALL : 0U) | (rule.multiline ? PCRE2_MULTILINE : 0U) |
                                  (rule.extended ? PCRE2_EXTENDED : 0U) | (rule.utf8 ? PCRE2_UTF : 0U) |
                                  (rule.ucp ? PCRE2_UCP : 0U);
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rule.pattern.data()), rule.pattern.size(), options,
                                           &error, &offset, context.get());
    if (code != nullptr) rules->codes.push_back(code);
    if (code == nullptr || pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) != 0)
      throw Error("the bare loop needs rules that PCRE2 compiles: rule " + std::to_string(rule.id));
  }
  return timed_session([rules] { return MatchLoop(rules); }, {"chosen by library", "bare", false});
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::bare::Loop>("regex", "pcre2-bare", &dpubench::bare::prepare));
}
