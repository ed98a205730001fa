// regex, engine pcre2: one JIT-compiled expression per rule, tried one after the other.
// requires: libpcre2-8 >= 10.30
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "operators/engine.hpp"
#include "operators/regex/work.hpp"

namespace dpubench {
namespace {

using regex::RegexWork;

// With this limit, one start position takes a millisecond at most. The default of ten million would let one rule hold a window
// for seconds.
constexpr std::uint32_t kMatchLimit = 100'000;
constexpr std::uint32_t kDepthLimit = 10'000;
constexpr std::uint32_t kHeapLimitKiB = 4096;
constexpr std::size_t kJitStackStart = 32U << 10;
constexpr std::size_t kJitStackMost = 1U << 20;

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Code = std::unique_ptr<pcre2_code, Freed<pcre2_code_free>>;

std::string message_of(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, std::size(text));
  return reinterpret_cast<const char*>(text);
}

struct Compiled {
  std::uint32_t rule;
  bool jit;
  bool utf8;
  Code code;
};

/// The compiled rules. All threads share them: compiled code is read-only (pcre2api, "Multithreading").
struct RuleSet {
  std::vector<Compiled> rules;  ///< from first_special on, the rules that need a check before each match
  std::size_t first_special = 0;
  std::vector<std::byte> rejected;  ///< bitmap of rules that were not compiled
  std::size_t rule_count = 0;
  std::size_t memory_bytes = 0;
  std::size_t not_compiled = 0;
  std::size_t without_jit = 0;
  std::size_t longest = 0;  ///< bytes of the longest item, an upper bound for the copy of a flow
  bool stream = false;
  bool any_utf8 = false;
  std::string first_reason;
};

std::shared_ptr<const RuleSet> compile(const RegexWork& work) {
  auto set = std::make_shared<RuleSet>();
  set->rule_count = work.rules.size();
  set->rejected.resize(regex::bitmap_bytes(work.rules.size()));
  set->stream = work.stream;
  for (const Item& item : work.items) set->longest = std::max(set->longest, item.in.size());
  const std::unique_ptr<pcre2_compile_context, Freed<pcre2_compile_context_free>> context(pcre2_compile_context_create(nullptr));
  if (context == nullptr) throw Error("PCRE2: out of memory");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);  // fixed, not the distribution's default: Hyperscan knows only LF
  for (std::uint32_t i = 0; i < work.rules.size(); ++i) {
    const regex::Rule& rule = work.rules[i];
    // Capture nothing, as in other engines.
    std::uint32_t options = PCRE2_NO_AUTO_CAPTURE;
    if (rule.caseless) options |= PCRE2_CASELESS;
    if (rule.dotall) options |= PCRE2_DOTALL;
    if (rule.multiline) options |= PCRE2_MULTILINE;
    if (rule.extended) options |= PCRE2_EXTENDED;
    if (rule.utf8) options |= PCRE2_UTF;
    if (rule.ucp) options |= PCRE2_UCP;
    int error = 0;
    PCRE2_SIZE offset = 0;
    Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rule.pattern.data()), rule.pattern.size(), options, &error, &offset,
                            context.get()));
    if (code == nullptr) {
      regex::set_bit(set->rejected.data(), i);
      if (set->not_compiled++ == 0)
        set->first_reason = "id " + std::to_string(rule.id) + ": " + message_of(error) + " at offset " + std::to_string(offset);
      continue;
    }
    const bool jit = pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE) == 0;
    std::size_t bytes = 0;
    std::size_t jit_bytes = 0;
    pcre2_pattern_info(code.get(), PCRE2_INFO_SIZE, &bytes);
    pcre2_pattern_info(code.get(), PCRE2_INFO_JITSIZE, &jit_bytes);
    set->memory_bytes += bytes + jit_bytes;
    set->without_jit += jit ? 0 : 1;
    set->any_utf8 |= rule.utf8;
    set->rules.push_back({i, jit, rule.utf8, std::move(code)});
  }
  const auto special =
      std::stable_partition(set->rules.begin(), set->rules.end(), [](const Compiled& r) { return r.jit && !r.utf8; });
  set->first_special = static_cast<std::size_t>(special - set->rules.begin());
  return set;
}

class Kernel {
 public:
  explicit Kernel(std::shared_ptr<const RuleSet> set)
      : set_(std::move(set)),
        bytes_(regex::bitmap_bytes(set_->rule_count)),
        context_(pcre2_match_context_create(nullptr)),
        stack_(pcre2_jit_stack_create(kJitStackStart, kJitStackMost, nullptr)),
        match_(pcre2_match_data_create(1, nullptr)),
        flow_(set_->stream ? set_->longest : 0) {
    if (context_ == nullptr || match_ == nullptr) throw Error("PCRE2: out of memory");
    pcre2_set_match_limit(context_.get(), kMatchLimit);
    pcre2_set_depth_limit(context_.get(), kDepthLimit);
    pcre2_set_heap_limit(context_.get(), kHeapLimitKiB);
    if (stack_ != nullptr) pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());  // null in a build without JIT
  }

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const std::byte* text = b.in[i];
      std::size_t length = b.in_len[i];
      if (set_->stream) {
        // PCRE2 keeps no state between segments, so the flow is copied into one piece.
        const regex::Segments segments(b.aux[i]);
        length = 0;
        for (std::uint32_t s = 0; s < segments.size(); ++s) {
          const regex::Segment segment = segments[s];
          std::memcpy(flow_.data() + length, text + segment.offset, segment.length);
          length += segment.length;
        }
        text = flow_.data();
      }
      b.result[i] = search(reinterpret_cast<PCRE2_SPTR>(text), length, b.out[i]);
      b.out_len[i] = static_cast<std::uint32_t>(2 * bytes_);
      b.status[i] = kStatusOk;
    }
  }

 private:
  std::uint64_t search(PCRE2_SPTR text, std::size_t length, std::byte* out) noexcept {
    std::byte* const undecided = out + bytes_;
    std::memset(out, 0, bytes_);
    std::memcpy(undecided, set_->rejected.data(), bytes_);
    bool is_utf8 = true;
    if (set_->any_utf8) {
      regex::Utf8Check check;
      check.feed(reinterpret_cast<const std::byte*>(text), length);
      is_utf8 = check.valid();
    }
    std::uint64_t hit = 0;
    const std::span<const Compiled> rules(set_->rules);
    const auto take = [&](const Compiled& rule, int found) {
      if (found >= 0) {
        regex::set_bit(out, rule.rule);
        ++hit;
      } else if (found != PCRE2_ERROR_NOMATCH) {
        regex::set_bit(undecided, rule.rule);  // a limit, the JIT stack or the memory was exhausted: this is not "no match"
      }
    };
    for (const Compiled& rule : rules.first(set_->first_special)) {
      take(rule, pcre2_jit_match(rule.code.get(), text, length, 0, 0, match_.get(), context_.get()));
    }
    for (const Compiled& rule : rules.subspan(set_->first_special)) {
      int found = PCRE2_ERROR_BADUTFOFFSET;
      if (!rule.utf8 || is_utf8) {
        found = rule.jit ? pcre2_jit_match(rule.code.get(), text, length, 0, 0, match_.get(), context_.get())
                         : pcre2_match(rule.code.get(), text, length, 0, PCRE2_NO_UTF_CHECK, match_.get(), context_.get());
      }
      take(rule, found);
    }
    return hit;
  }

  std::shared_ptr<const RuleSet> set_;
  std::size_t bytes_;
  std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>> context_;
  std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack_free>> stack_;
  std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> match_;
  std::vector<std::byte> flow_;
};

class Pcre2Session final : public Session {
 public:
  explicit Pcre2Session(const RegexWork& work) : set_(compile(work)) {
    const bool jit = set_->without_jit < set_->rules.size();
    path_ = {"chosen by library", jit ? "pcre2_jit_match" : "pcre2_match", false};
    path_.detail += ": first match of each rule, rule by rule";
    if (work.stream) path_.detail += ", on a flow copied into one piece";
    if (jit && set_->without_jit > 0)
      path_.detail += "; " + std::to_string(set_->without_jit) + " rules interpreted (no JIT code)";
    path_.detail += regex::compiled_summary(work, set_->not_compiled, "pcre2", set_->first_reason);
  }
  std::unique_ptr<Lane> open() override { return std::make_unique<SyncLane<Kernel>>(Kernel(set_)); }
  [[nodiscard]] PathInfo path() const override { return path_; }
  [[nodiscard]] std::size_t memory_bytes() const override { return set_->memory_bytes; }

 private:
  std::shared_ptr<const RuleSet> set_;
  PathInfo path_;
};

class Pcre2 final : public Engine {
 public:
  Pcre2() {
    char version[64] = {};
    if (pcre2_config(PCRE2_CONFIG_VERSION, nullptr) < static_cast<int>(sizeof version))
      pcre2_config(PCRE2_CONFIG_VERSION, version);
    info_ = {"regex", "pcre2", "PCRE2 with JIT, one expression after the other; gives up on a rule at a match limit of 100,000",
             std::string("PCRE2 ") + version};
  }
  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<Pcre2Session>(static_cast<const RegexWork&>(work));
  }

 private:
  EngineInfo info_;
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Pcre2>());
}
