#include "inputs/corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "expect_error.hpp"
#include "inputs/file.hpp"
#include "temporary_directory.hpp"

namespace dpubench::inputs {
namespace {

using test::expect_error;
using test::TemporaryDirectory;

TEST(Corpus, FilesComeInNameOrderAndHiddenOrEmptyOnesDoNot) {
  const TemporaryDirectory directory;
  directory.write("d/b.txt", "bb");
  directory.write("d/sub/a.txt", "aaa");
  directory.write("d/.hidden", "x");
  directory.write("d/.git/config", "x");
  directory.write("d/empty", "");
  const auto single = directory.write("c.txt", "c");
  const Corpus corpus = read_corpus({directory.path() / "d", single});
  ASSERT_EQ(corpus.files.size(), 3U);
  EXPECT_EQ(corpus.files[0].name, "b.txt");
  EXPECT_EQ(corpus.files[1].name, "c.txt");
  EXPECT_EQ(corpus.files[2].name, "sub/a.txt");
  EXPECT_EQ(as_text(corpus.files[2].bytes), "aaa");
  EXPECT_EQ(corpus.total_bytes(), 6U);
}

TEST(Corpus, WhatCannotBeUsedIsRefused) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() / "nothing");
  expect_error([&] { read_corpus({directory.path() / "nothing"}); }, {"nothing", "no file with content"});
  expect_error([&] { read_corpus({directory.write("empty", "")}); }, {"empty: is empty"});
  expect_error([&] { read_corpus({directory.path() / "missing"}); }, {"missing", "No such file"});
  expect_error([] { read_corpus({}); }, {"--input corpus=FILE"});
  Random random(1);
  EXPECT_THROW(static_cast<void>(Corpus().messages(1, 1, random)), std::invalid_argument);
}

TEST(Corpus, MessagesAreCutFromFilesInProportionToTheirLength) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += static_cast<char>('A' + i % 23);
  const Corpus corpus = read_corpus({directory.write("long", text), directory.write("short", std::string(1000, '.'))});
  Random random(9);
  int shorts = 0;
  for (const auto& message : corpus.messages(4000, 64, random)) {
    ASSERT_EQ(message.size(), 64U);
    const bool is_short = message[0] == std::byte{'.'};
    shorts += is_short ? 1 : 0;
    ASSERT_NE((is_short ? std::string(64, '.') : text).find(as_text(message)), std::string::npos);
  }
  EXPECT_NEAR(shorts, 1000, 100);  // a quarter of the bytes; more than three standard deviations of room
}

TEST(Corpus, AnyStretchOfMessagesIsSpreadOverAllFiles) {
  // What a window holds of many messages is what all of them are: 30 in a row from a half, 15 from each quarter.
  const TemporaryDirectory directory;
  const Corpus corpus = read_corpus({directory.write("a", std::string(500, 'a')), directory.write("b", std::string(250, 'b')),
                                     directory.write("c", std::string(250, 'c'))});
  Random random(3);
  const auto messages = corpus.messages(600, 8, random);
  Random again(3);
  const auto fewer = corpus.messages(100, 8, again);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), messages.begin())) << "fewer are the first of more";
  for (std::size_t first = 0; first + 60 <= messages.size(); ++first) {
    const auto from = messages.begin() + static_cast<std::ptrdiff_t>(first);
    const auto of = [&](char file) {
      return std::count_if(from, from + 60, [&](const auto& m) { return m[0] == static_cast<std::byte>(file); });
    };
    ASSERT_NEAR(static_cast<double>(of('a')), 30, 3) << first;
    ASSERT_NEAR(static_cast<double>(of('b')), 15, 3) << first;
  }
}

TEST(Corpus, AShortFileIsRepeatedAndSeedsRepeatMessages) {
  const TemporaryDirectory directory;
  const Corpus corpus = read_corpus({directory.write("abc", "abc")});
  Random random(1);
  for (const auto& message : corpus.messages(20, 10, random)) {
    EXPECT_NE(std::string("abcabcabcabcabc").find(as_text(message)), std::string::npos);
    EXPECT_EQ(message.size(), 10U);
  }
  Random first(5);
  Random second(5);
  EXPECT_EQ(corpus.messages(50, 2, first), corpus.messages(50, 2, second));
  EXPECT_TRUE(corpus.messages(1, 0, first).front().empty());
  Random exact(5);
  EXPECT_EQ(as_text(corpus.messages(1, 3, exact).front()), "abc");
}

}  // namespace
}  // namespace dpubench::inputs
