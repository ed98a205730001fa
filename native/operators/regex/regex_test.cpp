// Tests of regex: the rules that engines get, how undecided pairs are judged, and matches across segments.

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "operators/lane.hpp"
#include "operators/regex/work.hpp"
#include "operators/support/messages.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/verify.hpp"

namespace dpubench::regex {
namespace {

using Lists = std::vector<std::string>;

const Operator& op() {
  return *find_operator("regex");
}

using test::engines;

std::vector<const Engine*> here() {
  std::vector<const Engine*> found;
  for (const EngineSlot* slot : engines().of(op())) {
    if (slot->reason.empty()) found.push_back(slot->engine);
  }
  return found;
}

/// Return the engine, or null if it is not in this build or cannot run here.
const Engine* find(const std::string& name) {
  const EngineSlot* const slot = engines().find("regex", name);
  return slot != nullptr && slot->reason.empty() ? slot->engine : nullptr;
}

#define NEED_ENGINE(name) \
  if (find(name) == nullptr) GTEST_SKIP() << "engine " << (name) << " cannot run here"

inputs::Rule rule(const std::string& pattern, const std::string& flags = "") {
  return {1, pattern, flags, 1};
}

/// Return a work with payloads against rules `pattern` with `flags`. Each payload is cut in segments (one in mode block).
std::unique_ptr<RegexWork> work_of(const std::vector<std::pair<std::string, std::string>>& rules, const std::vector<Lists>& flows,
                                   bool stream) {
  auto work = std::make_unique<RegexWork>();
  work->params = op().complete({{"mode", std::string(stream ? "stream" : "block")}});
  work->stream = stream;
  inputs::RuleList list;
  for (const auto& [pattern, flags] : rules)
    list.rules.push_back({static_cast<std::uint32_t>(list.rules.size() + 1), pattern, flags, 1});
  work->rules = select(list, "test").rules;
  work->rules_hash = hash_of(work->rules);
  for (const Lists& flow : flows) {
    Item item;
    std::vector<Segment> segments;
    for (const std::string& piece : flow) {
      const std::vector<std::byte> bytes = bytes_of(piece);
      segments.push_back({static_cast<std::uint32_t>(item.in.size()), static_cast<std::uint32_t>(bytes.size())});
      item.in.insert(item.in.end(), bytes.begin(), bytes.end());
      if (stream) item.in.resize(item.in.size() + 7, std::byte{'#'});  // bytes that must not be searched
    }
    if (stream) item.aux = Segments::encode(segments);
    item.out_room = static_cast<std::uint32_t>(2 * bitmap_bytes(work->rules.size()));
    work->items.push_back(std::move(item));
  }
  return work;
}

/// Return the rules' answers per item: 'y' matches, 'n' does not match, '?' undecided.
Lists answers(const RegexWork& work, const std::vector<Output>& outputs) {
  Lists all;
  for (const Output& output : outputs) {
    EXPECT_EQ(output.status, kStatusOk);
    const std::span<const std::byte> bits(output.bytes);
    std::string text;
    for (std::size_t i = 0; i < work.rules.size(); ++i) {
      const bool undecided = bit(bits.subspan(bitmap_bytes(work.rules.size())), i);
      EXPECT_FALSE(undecided && bit(bits, i)) << "rule " << i << " both matches and is undecided";
      text += undecided ? '?' : bit(bits, i) ? 'y' : 'n';
    }
    EXPECT_EQ(output.result, static_cast<std::uint64_t>(std::count(text.begin(), text.end(), 'y')));
    all.push_back(text);
  }
  return all;
}

Lists run(const RegexWork& work, const Engine& engine) {
  return answers(work, run_once(work, *engine.prepare(work), 2));
}

/// A rule file for one test, removed by the destructor.
class RuleFile {
 public:
  explicit RuleFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("dpubench-regex-test-" + std::to_string(getpid()) + ".rules")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  RuleFile(const RuleFile&) = delete;
  RuleFile& operator=(const RuleFile&) = delete;
  ~RuleFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] inputs::Files files() const { return {{"rules", {path_}}}; }

 private:
  std::filesystem::path path_;
};

TEST(RegexRules, ConstructsThatNotEveryEngineKnowsAreScreened) {
  const std::map<std::string, std::string> expected = {
      // Hyperscan Developer's Reference Guide, "Unsupported Constructs".
      {R"((a)\1)", "back-reference"},
      {R"((?<n>a)\k<n>)", "back-reference"},
      {R"((?P<n>a)(?P=n))", "back-reference"},
      {R"((a)\g{1})", "back-reference or subroutine call"},
      {"a(?=b)", "lookahead"},
      {"a(?!b)", "lookahead"},
      {"(?<=a)b", "lookbehind"},
      {"(?<!a)b", "lookbehind"},
      {"(?>a+)b", "atomic group"},
      {"a++b", "possessive repeat"},
      {"a{2,3}+b", "possessive repeat"},
      {"(?(1)a|b)", "conditional group"},
      {"(?|a|b)", "branch reset"},
      {"(?R)", "recursion"},
      {"(a(?1)?)", "recursion"},
      {"(?&n)", "recursion"},
      {"(?-1)", "recursion"},
      {"(?P>n)", "recursion"},
      {"a(?C1)b", "callout"},
      {"(*FAIL)", "control verb"},
      {R"(a\Kb)", "\\K"},
      {R"(a\Cb)", "\\C"},
      {R"(\Ga)", "\\G"},
      {R"(a\Rb)", "\\R"},
      {R"(a\Xb)", "\\X"},
      {"(?U)a*", "inline option other than i, m, s, x"},
      // These patterns look like such constructs but are none.
      {"plain", ""},
      {R"(a\.b\\1)", ""},
      {R"([(?=)]\()", ""},
      {R"([]a(?=b)]+)", ""},
      {R"(\Qa(?=b)++\E)", ""},
      {"(?:a|b)+?", ""},
      {"(?i)a(?-i:b)", ""},
      {"(?<n>a)", ""},
      {"(?P<n>a)", ""},
      {"(?#a comment (?=)a", ""},
      {"a{2,3}?", ""},
      {"a{,3}+", ""},
      {"[[:alpha:]]++", "possessive repeat"},
      {R"(\0101)", ""},
      {R"(a\+\+)", ""},
  };
  for (const auto& [pattern, reason] : expected) EXPECT_EQ(screen(rule(pattern)), reason) << pattern;
  EXPECT_EQ(screen(rule("a # (?=b)\nc", "x")), "") << "a comment";
  EXPECT_EQ(screen(rule("a # (?=b)\nc")), "lookahead") << "no comment without x";
  EXPECT_EQ(screen(rule("(?x)a # (?=b)\nc")), "");
  EXPECT_EQ(screen(rule("a", "i{min_offset=3}")), "parameters in braces after the flags");
  EXPECT_EQ(screen(rule("1 & 2", "C")), "combination of other rules");
}

TEST(RegexRules, WhatIsLeftOutIsCountedAndNamed) {
  inputs::RuleList list;
  list.rules = {{7, "a(?=b)", "", 1}, {8, "plain", "i", 2}, {9, "c(?!d)", "", 3}};
  const Selection selection = select(list, "some.rules");
  ASSERT_EQ(selection.rules.size(), 1U);
  EXPECT_EQ(selection.rules[0].id, 8U);
  EXPECT_TRUE(selection.rules[0].caseless);
  EXPECT_EQ(selection.left_out, 2U);
  ASSERT_EQ(selection.notes.size(), 1U);
  for (const char* part : {"some.rules", "2 of 3", "lookahead", "7, 9"})
    EXPECT_NE(selection.notes[0].find(part), std::string::npos) << part << " in: " << selection.notes[0];
  list.rules.erase(list.rules.begin() + 1);
  EXPECT_THROW((void)select(list, "some.rules"), Error) << "no rule is left";
}

TEST(RegexUtf8, SequencesAreTakenAsRfc3629HasThem) {
  using namespace std::string_view_literals;
  const std::pair<std::string_view, bool> texts[] = {
      {""sv, true},
      {"abc\0\x7f"sv, true},
      {"\xc2\x80\xdf\xbf"sv, true},
      {"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"sv, true},
      {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"sv, true},
      {"\x80"sv, false},              // a continuation without a beginning
      {"\xc3"sv, false},              // cut off
      {"\xe2\x82"sv, false},          //
      {"\xc3\x28"sv, false},          // no continuation
      {"\xc0\xaf"sv, false},          // overlong
      {"\xc1\xbf"sv, false},          //
      {"\xe0\x9f\xbf"sv, false},      //
      {"\xf0\x8f\xbf\xbf"sv, false},  //
      {"\xed\xa0\x80"sv, false},      // a surrogate
      {"\xf4\x90\x80\x80"sv, false},  // above U+10FFFF
      {"\xf5\x80\x80\x80"sv, false},
      {"\xff"sv, false},
  };
  for (const auto& [text, valid] : texts) {
    const std::vector<std::byte> bytes = bytes_of(text);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      Utf8Check check;
      check.feed(bytes.data(), cut);
      check.feed(bytes.data() + cut, bytes.size() - cut);
      EXPECT_EQ(check.valid(), valid) << ::testing::PrintToString(text) << " cut at " << cut;
    }
  }
}

TEST(RegexUtf8, Utf8RulesAreUndecidedOnOtherBytesInEveryEngine) {
  ASSERT_FALSE(here().empty());
  const std::vector<std::pair<std::string, std::string>> rules = {{"\xc3\xa9+t", "8"}, {"t", ""}, {"^.$", "8"}};
  const std::vector<Lists> flows = {{"\xc3", "\xa9\xc3", "\xa9t"}, {"\xff", "t"}, {"\xe2\x82", "\xac"}, {"t\xc3"}};
  const Lists want = {"yyn", "?y?", "nny", "?y?"};
  std::vector<Lists> whole;
  for (const Lists& flow : flows) {
    std::string text;
    for (const std::string& piece : flow) text += piece;
    whole.push_back({text});
  }
  for (const Engine* engine : here()) {
    SCOPED_TRACE(engine->info().name);
    EXPECT_EQ(run(*work_of(rules, flows, true), *engine), want);
    EXPECT_EQ(run(*work_of(rules, whole, false), *engine), want);
  }
}

TEST(RegexRules, StringsDrawnFromARuleMatchIt) {
  ASSERT_FALSE(here().empty());
  const std::vector<std::pair<std::string, std::string>> rules = {
      {"plain", ""},
      {"a.c", ""},
      {R"(\d{3}-\w+\s[^a-y]x)", ""},
      {R"((?:ab|cd){2,5}e?f*)", ""},
      {R"([[:upper:]][[:digit:]]{4})", ""},
      {R"(\x00\xff[\x80-\x8f]{3})", ""},
      {R"(^GET \/[a-z]{2,9}\.php\?)", ""},
      {R"(end\.$)", ""},
      {R"(\QA+B\E\t\.)", ""},
      {R"(a b [ ]c)", "x"},
      {R"((?i)Mixed(?-i:Case))", ""},
      {R"(\bword\b)", ""},
      {R"((?P<name>q[0-9A-F]{8}))", ""},
      {R"([]\-x]{4}[^]]z)", ""},
  };
  inputs::Random random(11);
  for (const auto& one : rules) {
    SCOPED_TRACE(one.first);
    const Rule compiled = work_of({one}, {}, false)->rules.at(0);
    std::vector<Lists> payloads;
    for (int i = 0; i < 20; ++i) {
      const auto sample = draw(compiled, random);
      ASSERT_TRUE(sample.has_value());
      payloads.push_back({(sample->at_start ? "" : "- ") + sample->text + (sample->at_end ? "" : " -")});
    }
    for (const Engine* engine : here())
      EXPECT_EQ(run(*work_of({one}, payloads, false), *engine), Lists(20, "y")) << engine->info().name;
  }
  // Patterns that the drawer does not know yield no string, rather than a wrong one.
  for (const char* pattern : {"\\p{L}", "\\x{1234}", "(unclosed", "[unclosed", "a{2}{3}", "(?:ab){2000}", "*a"})
    EXPECT_EQ(draw({1, pattern, false, false, false, false, false, false}, random), std::nullopt) << pattern;
}

TEST(Regex, PlantedMatchesAcrossSegmentBordersAreFoundInFlows) {
  ASSERT_FALSE(here().empty());
  const RuleFile file("1:/qx[0-9]{6}zj/\n2:/VW(?:kk|pp){3}XQ/\n3:/zq\\x01\\x02\\x03jz/\n");
  inputs::Store store(file.files(), 9);
  const std::unique_ptr<Work> base =
      op().prepare(op().complete({{"mode", "stream"}, {"size", "64"}, {"planted_percent", "100"}}), store, {24});
  const auto& flows = static_cast<const RegexWork&>(*base);
  // The same bytes with every segment alone: a match that is found there needs no state between segments.
  RegexWork alone;
  alone.params = op().complete({{"mode", "block"}});
  alone.rules = flows.rules;
  for (const Item& item : flows.items) {
    const Segments segments(item.aux.data());
    for (std::uint32_t s = 0; s < segments.size(); ++s) {
      const auto from = item.in.begin() + segments[s].offset;
      alone.items.push_back({{from, from + segments[s].length}, {}, item.out_room});
    }
  }
  for (const Engine* engine : here()) {
    SCOPED_TRACE(engine->info().name);
    const Lists found = run(flows, *engine);
    const Lists pieces = run(alone, *engine);
    const std::size_t per_flow = pieces.size() / found.size();
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NE(found[i].find('y'), std::string::npos) << "nothing was found in flow " << i;
      for (std::size_t s = 0; s < per_flow; ++s) EXPECT_EQ(pieces[i * per_flow + s], "nnn") << "flow " << i << ", segment " << s;
    }
  }
}

TEST(Regex, FlowsDoNotReachIntoOneAnother) {
  const auto work = work_of({{"needle", ""}, {"^le", ""}, {"need$", ""}}, {{"a need"}, {"le b"}, {"need", "le"}}, true);
  for (const Engine* engine : here()) {
    SCOPED_TRACE(engine->info().name);
    EXPECT_EQ(run(*work, *engine), (Lists{"nny", "nyn", "ynn"}));
  }
}

// Each "a" may be taken alone or with the next one, and the end is never reached: there are exponentially many ways (pcre2api,
// "The match limit").
TEST(Regex, MatchLimitOfPcre2LeavesAPairUndecided) {
  NEED_ENGINE("pcre2");
  const std::string payload = std::string(64, 'a') + "b";
  const auto work = work_of({{"^(a|aa)+$", ""}, {"ab", ""}, {"x", ""}}, {{payload}, {"aaa"}}, false);
  const auto outputs = run_once(*work, *find("pcre2")->prepare(*work), 1);
  EXPECT_EQ(answers(*work, outputs), (Lists{"?yn", "ynn"}));
  EXPECT_EQ(op().remark(*work, {}), std::nullopt) << "nothing was judged yet";
  // A pair that the reference left undecided is no disagreement with an engine that decides it, and it counts once.
  std::vector<Output> decided = outputs;
  decided[0].bytes[1] = std::byte{0};
  for (int again = 0; again < 3; ++again) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(op().check(*work, i, outputs[i], &outputs[i]), "");
      EXPECT_EQ(op().check(*work, i, decided[i], &outputs[i]), "");
    }
  }
  const auto remark = op().remark(*work, {});
  ASSERT_TRUE(remark.has_value());
  EXPECT_EQ(remark->code, "input-skipped");
  EXPECT_EQ(remark->message.rfind("1 of 6 pairs", 0), 0U) << remark->message;
  if (const Engine* hyperscan = find("hyperscan"); hyperscan != nullptr) {
    EXPECT_EQ(run(*work, *hyperscan), (Lists{"nyn", "ynn"}));
  }
  // In known answers, giving up is a failure.
  work->all_decided = true;
  EXPECT_NE(op().check(*work, 0, outputs[0], &decided[0]), "");
}

TEST(Regex, WrongAnswersAreFound) {
  const auto work = work_of({{"foo", ""}, {"bar", ""}, {"x", ""}}, {{"a foo"}}, false);
  const Output want{{std::byte{1}, std::byte{0}}, 1, kStatusOk};
  EXPECT_EQ(op().check(*work, 0, want, &want), "");
  const std::vector<Output> wrong = {
      {{std::byte{0}, std::byte{0}}, 0, kStatusOk},        // a match not found
      {{std::byte{3}, std::byte{0}}, 2, kStatusOk},        // one too many
      {{std::byte{1}, std::byte{0}}, 2, kStatusOk},        // a wrong count
      {{std::byte{1}, std::byte{1}}, 1, kStatusOk},        // matches and is undecided
      {{std::byte{9}, std::byte{0}}, 2, kStatusOk},        // a rule that does not exist
      {{std::byte{1}, std::byte{8}}, 1, kStatusOk},        //
      {{std::byte{1}}, 1, kStatusOk},                      // half the output
      {{std::byte{1}, std::byte{0}}, 1, kStatusRejected},  // no answer at all
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) EXPECT_NE(op().check(*work, 0, wrong[i], &want), "") << "case " << i;
}

TEST(Regex, AnEngineThatLeavesMostUndecidedIsRefused) {
  const auto work = work_of({{"foo", ""}, {"bar", ""}}, {{"a foo"}, {"bar"}}, false);
  const std::size_t items[] = {0, 1};
  const auto outputs = [](unsigned first, unsigned second) {
    return std::vector<Output>{{{std::byte{0}, static_cast<std::byte>(first)}, 0, kStatusOk},
                               {{std::byte{0}, static_cast<std::byte>(second)}, 0, kStatusOk}};
  };
  EXPECT_EQ(op().check_all(*work, items, outputs(0, 0)), "");
  EXPECT_EQ(op().check_all(*work, items, outputs(3, 0)), "") << "half";
  EXPECT_EQ(op().check_all(*work, items, outputs(3, 1)).rfind("3 of 4 pairs", 0), 0U);
  EXPECT_EQ(op().check_all(*work, items, outputs(3, 3)).rfind("4 of 4 pairs", 0), 0U);
  // UTF-8 rules on other bytes are undecided by definition, so no engine is at fault.
  const auto bytes = work_of({{"foo", "8"}, {"bar", "8"}}, {{"\xff"}, {"\xfe"}}, false);
  EXPECT_EQ(op().check_all(*bytes, items, outputs(3, 3)), "");
  // A share that is allowed is still reported, because it changes the meaning of a rate.
  EXPECT_EQ(op().undecided_share(*work, outputs(0, 0)), 0);
  EXPECT_EQ(op().undecided_share(*work, outputs(1, 0)), 0.25);
  EXPECT_EQ(op().undecided_share(*bytes, outputs(3, 3)), 0);
}

/// An engine that finds no match and decides nothing.
class GivesUp final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& base) const override {
    const auto& work = static_cast<const RegexWork&>(base);
    const auto kernel = [bytes = bitmap_bytes(work.rules.size()), rules = work.rules.size()](Burst& b) noexcept {
      for (std::uint32_t i = 0; i < b.n; ++i) {
        std::memset(b.out[i], 0, 2 * bytes);
        for (std::size_t r = 0; r < rules; ++r) set_bit(b.out[i] + bytes, r);
        b.out_len[i] = static_cast<std::uint32_t>(2 * bytes);
        b.result[i] = 0;
        b.status[i] = kStatusOk;
      }
    };
    return kernel_session([kernel] { return kernel; }, {"generic", "nothing", false});
  }

 private:
  EngineInfo info_{"regex", "gives-up", "leaves everything undecided", ""};
};

TEST(Regex, TheVerifierAsksForDecisionsOnRealInput) {
  NEED_ENGINE("pcre2");
  const auto work = work_of({{"foo", ""}, {"bar", ""}}, {{"a foo"}, {"bar"}}, false);
  Verifier verifier(op(), *work, engines(), 1);
  const GivesUp engine;
  const auto outputs = run_once(*work, *engine.prepare(*work), 1);
  const std::size_t items[] = {0, 1};
  try {
    verifier.judge(items, outputs);
    FAIL() << "an engine that decides nothing passed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("4 of 4"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(verifier.judge(items, run_once(*work, *find("pcre2")->prepare(*work), 1)));
}

TEST(Regex, RulesThatACompilerRefusesAreCountedAndUndecided) {
  const auto work = work_of({{"foo", ""}, {"foo(", ""}, {"bar", ""}, {"[z-a]", ""}}, {{"a foo"}, {"bar"}}, false);
  for (const Engine* engine : here()) {
    SCOPED_TRACE(engine->info().name);
    const auto session = engine->prepare(*work);
    EXPECT_NE(session->path().detail.find("2 of 4 rules not compiled"), std::string::npos) << session->path().detail;
    EXPECT_NE(session->path().detail.find("id 2"), std::string::npos) << session->path().detail;
    EXPECT_EQ(answers(*work, run_once(*work, *session, 1)), (Lists{"y?n?", "n?y?"}));
  }
}

TEST(Regex, ARuleThatOneCompilerRefusesIsUndecidedThereAlone) {
  NEED_ENGINE("pcre2");
  NEED_ENGINE("hyperscan");
  // Hyperscan Developer's Reference Guide, "Unsupported Constructs": word boundaries by Unicode properties.
  const auto work = work_of({{"foo", ""}, {"\\bfoo\\b", "8W"}}, {{"a foo"}, {"bar"}}, false);
  EXPECT_EQ(run(*work, *find("pcre2")), (Lists{"yy", "nn"}));
  EXPECT_EQ(run(*work, *find("hyperscan")), (Lists{"y?", "n?"}));
}

TEST(Regex, ASetOfWhichNothingCompilesIsAnError) {
  const auto work = work_of({{"foo(", ""}, {"[z-a]", ""}}, {{"a foo"}}, false);
  for (const Engine* engine : here()) {
    SCOPED_TRACE(engine->info().name);
    try {
      (void)engine->prepare(*work);
      FAIL() << "prepared with no rule at all";
    } catch (const Error& error) {
      for (const char* part : {"none of 2 rules", "id 1", "--input rules="})
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in: " << error.what();
    }
  }
  const RuleFile file("1:/a(?=b)/\n2:/(c)\\1/\n");
  inputs::Store store(file.files(), 1);
  EXPECT_THROW((void)op().prepare(op().complete({}), store, {2}), Error);
}

TEST(Regex, HyperscanCompilesOnceWhereThereIsACache) {
  NEED_ENGINE("hyperscan");
  const auto work = work_of({{"foo", ""}, {"bar", ""}}, {{"a foo"}, {"bar"}}, false);
  std::map<std::string, std::vector<std::byte>, std::less<>> kept;
  std::size_t built = 0;
  work->cached = [&](std::string_view key, const std::function<std::vector<std::byte>()>& build) {
    const auto it = kept.find(key);
    if (it != kept.end()) return it->second;
    ++built;
    return kept.emplace(std::string(key), build()).first->second;
  };
  for (int again = 0; again < 3; ++again) EXPECT_EQ(run(*work, *find("hyperscan")), (Lists{"yn", "ny"}));
  EXPECT_EQ(built, 1U);
  work->stream = true;
  (void)find("hyperscan")->prepare(*work);
  EXPECT_EQ(built, 2U) << "another mode is another database";
  for (auto& [key, bytes] : kept) bytes.resize(3);
  EXPECT_THROW((void)find("hyperscan")->prepare(*work), Error) << "cut short";
}

}  // namespace
}  // namespace dpubench::regex
