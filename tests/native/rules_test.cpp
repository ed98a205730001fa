#include "inputs/rules.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "expect_error.hpp"
#include "shared_data.hpp"

namespace dpubench::inputs {
namespace {

using test::expect_error;

TEST(Rules, TheLastSlashEndsTheExpression) {
  const RuleList list = parse_rules(
      "\xef\xbb\xbf# comment\n\n7://user/[0-9]+/edit$/\r\n  8:/a:b\\/c/isH8 "
      "\n9:/x/{min_offset=4,max_offset=9}\n0:/#/i{edit_distance=1}",
      "t");
  ASSERT_EQ(list.rules.size(), 4U);
  EXPECT_EQ(list.rules[0].id, 7U);
  EXPECT_EQ(list.rules[0].pattern, "/user/[0-9]+/edit$");
  EXPECT_EQ(list.rules[0].flags, "");
  EXPECT_EQ(list.rules[0].line, 3U);
  EXPECT_EQ(list.rules[1].pattern, "a:b\\/c");
  EXPECT_EQ(list.rules[1].flags, "isH8");
  EXPECT_EQ(list.rules[2].flags, "{min_offset=4,max_offset=9}");
  EXPECT_EQ(list.rules[3].pattern, "#");
  EXPECT_EQ(list.rules[3].flags, "i{edit_distance=1}");
  EXPECT_TRUE(list.skipped.empty());
}

TEST(Rules, EachKindOfBadLineIsSkippedWithItsReason) {
  const auto skipped = [](const std::string& line, std::string_view reason) {
    const RuleList list = parse_rules("1:/ok/\n" + line + "\n", "file.regex");
    EXPECT_EQ(list.rules.size(), 1U) << line;
    ASSERT_EQ(list.skipped.size(), 1U) << line;
    EXPECT_EQ(list.skipped[0].rfind("file.regex:2: ", 0), 0U) << list.skipped[0];
    EXPECT_NE(list.skipped[0].find(reason), std::string::npos) << list.skipped[0];
  };
  skipped("1:/again/", "the id 1 was used before");
  skipped("/no id/", "does not begin with ID:");
  skipped(":/no id/", "does not begin with ID:");
  skipped("-2:/x/", "does not begin with ID:");
  skipped("2x:/x/", "does not begin with ID:");
  skipped("2", "does not begin with ID:");
  skipped("4294967296:/x/", "from 0 to 4294967295");
  skipped("2:x", "not enclosed in slashes");
  skipped("2:/x", "not enclosed in slashes");
  skipped("2:", "not enclosed in slashes");
  skipped("2://", "the expression is empty");
  skipped("2:/a/b c/d", "\"d\"");
  skipped("2:/a/i{x", "\"i{x\"");
  skipped("2:/a/i{x}{y}", "flags are letters of");
  skipped(std::string("2:/a\0b/", 7), "NUL");
}

TEST(Rules, NoRuleIsAnErrorThatShowsWhy) {
  expect_error([] { parse_rules("a\nb\nc\nd\ne\n", "t"); }, {"t: no line is a rule", "t:1: ", "t:3: ", "and 2 more"});
  expect_error([] { parse_rules("", "t"); }, {"t: no line is a rule", "12:/regex/i"});
  expect_error([] { parse_rules("\x28\xb5\x2f\xfd", "t.zst"); }, {"unzstd -k t.zst"});
  expect_error([] { read_rules("/nonexistent.regex"); }, {"/nonexistent.regex", "No such file"});
}

TEST(Rules, RealRuleSets) {
  for (const char* name : {"rules/modsecurity_crs_rx.regex", "rules/uap_core.regex"}) {
    NEED_SHARED_DATA(name);
    std::ifstream file(test::shared_data() / name);
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) lines += line.starts_with('#') ? 0 : 1;
    const RuleList list = read_rules(test::shared_data() / name);
    EXPECT_EQ(list.rules.size(), lines) << name;
    EXPECT_TRUE(list.skipped.empty()) << name << ": " << list.skipped.front();
  }
}

}  // namespace
}  // namespace dpubench::inputs
