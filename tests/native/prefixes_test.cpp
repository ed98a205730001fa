#include "inputs/prefixes.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#if __has_include(<zlib.h>)
#include <zlib.h>
#define HAVE_ZLIB 1
#else
#define HAVE_ZLIB 0
#endif

#include "expect_error.hpp"
#include "shared_data.hpp"
#include "temporary_directory.hpp"

namespace dpubench::inputs {
namespace {

using test::expect_error;

TEST(Prefixes4, FoldsNextHopsInOrderOfFirstAppearance) {
  const PrefixList4 list = parse_prefixes4("10.0.0.0/8,4294967295\n0.0.0.0/0,0\n192.0.2.1/32,4294967295\n", "t");
  EXPECT_EQ(list.prefixes, (std::vector<Prefix4>{{0x0a000000, 8, 0}, {0, 0, 1}, {0xc0000201, 32, 0}}));
  EXPECT_EQ(list.next_hops, 2U);
  EXPECT_EQ(list.duplicates, 0U);
}

TEST(Prefixes4, PassesOverHeaderCommentsBlanksAndCarriageReturns) {
  const PrefixList4 list =
      parse_prefixes4("\xef\xbb\xbf# a table\r\n\r\nprefix,next_hop_id\r\n  10.0.0.0/8 , 7 # mine\r\n11.0.0.0/8,7", "t");
  EXPECT_EQ(list.prefixes, (std::vector<Prefix4>{{0x0a000000, 8, 0}, {0x0b000000, 8, 0}}));
}

TEST(Prefixes4, TheLastDuplicateCountsInTheFirstPlace) {
  const PrefixList4 list = parse_prefixes4("10.0.0.0/8,5\n9.0.0.0/8,6\n10.0.0.0/8,7\n10.0.0.0/9,6\n10.0.0.0/8,8\n", "t");
  EXPECT_EQ(list.prefixes, (std::vector<Prefix4>{{0x0a000000, 8, 0}, {0x09000000, 8, 1}, {0x0a000000, 9, 1}}));
  EXPECT_EQ(list.next_hops, 2U);  // 8 and 6; 5 and 7 were replaced
  EXPECT_EQ(list.duplicates, 2U);
}

TEST(Prefixes4, EachKindOfBadLineIsNamedWithItsRemedy) {
  const auto refused = [](const std::string& line, std::string_view remedy) {
    expect_error([&] { parse_prefixes4("1.0.0.0/8,1\n" + line + "\n", "table.csv"); }, {"table.csv:2: ", remedy});
  };
  refused("10.1.2.3/8,1", "the network is 10.0.0.0/8");
  refused("128.0.0.1/0,1", "the network is 0.0.0.0/0");
  refused("10.1.2.3,1", "write 10.1.2.3/32");
  refused("10.0.0.0/33,1", "from 0 to 32");
  refused("10.0.0.0/,1", "from 0 to 32");
  refused("10.0.0.0/-1,1", "from 0 to 32");
  refused("10.0.0.0/8 8,1", "from 0 to 32");
  refused("2001:db8::/32,1", "give it as routes6");
  refused("10.0.0/8,1", "no IPv4 address");
  refused("10.0.0.256/32,1", "no IPv4 address");
  refused("010.0.0.0/8,1", "no IPv4 address");
  refused("10.0.0.0.0/8,1", "no IPv4 address");
  refused("10.0.0.0000/8,1", "no IPv4 address");
  refused("10.0.0.0/8", "the next hop is missing");
  refused("10.0.0.0/8,", "from 0 to 4294967295");
  refused("10.0.0.0/8,4294967296", "from 0 to 4294967295");
  refused("10.0.0.0/8,AS5", "from 0 to 4294967295");
  refused("10.0.0.0/8,1,2", "from 0 to 4294967295");
  refused("prefix,next_hop_id", "no IPv4 address");  // names columns on the first line only
}

TEST(Prefixes4, ShowsTenBadLinesAndCountsTheRest) {
  std::string text;
  for (int i = 0; i < 13; ++i) text += "bad" + std::to_string(i) + "\n";
  expect_error([&] { parse_prefixes4(text, "t"); }, {"13 bad lines", "t:1: \"bad0\"", "t:10: \"bad9\"", "and 3 more"});
  try {
    parse_prefixes4(text, "t");
  } catch (const Error& e) {
    EXPECT_EQ(std::string_view(e.what()).find("t:11:"), std::string_view::npos);
  }
}

TEST(Prefixes4, BinaryRubbishIsShownHarmlessly) {
  expect_error([] { parse_prefixes4(std::string("\x1b[2J\0\xff\n", 7), "t"); }, {"\"?[2J??\""});
  expect_error([] { parse_prefixes4(std::string(500, 'x'), "t"); }, {std::string(60, 'x') + "...\""});
  expect_error([] { parse_prefixes4("\x1f\x8b\x08", "t.gz"); }, {"gunzip -k t.gz"});
}

TEST(Prefixes, NoPrefixIsAnError) {
  expect_error([] { parse_prefixes4("# nothing\n\nprefix,next_hop_id\n", "t"); }, {"t: holds no prefix", "203.0.113.0/24,64500"});
  expect_error([] { parse_prefixes6("", "t"); }, {"t: holds no prefix", "2001:db8::/32,64500"});
  expect_error([] { read_prefixes4("/nonexistent/table.csv"); }, {"/nonexistent/table.csv", "No such file"});
}

TEST(Prefixes6, ReadsEveryNotation) {
  const PrefixList6 list = parse_prefixes6("::/0,9\n2001:db8::/32,8\n::ffff:192.0.2.1/128,9\n2001:db8::/32,7\n8000::/1,7\n", "t");
  ASSERT_EQ(list.prefixes.size(), 4U);
  EXPECT_EQ(list.prefixes[0], (Prefix6{{}, 0, 0}));
  EXPECT_EQ(list.prefixes[1], (Prefix6{{0x20, 0x01, 0x0d, 0xb8}, 32, 1}));
  EXPECT_EQ(list.prefixes[2], (Prefix6{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1}, 128, 0}));
  EXPECT_EQ(list.prefixes[3], (Prefix6{{0x80}, 1, 1}));
  EXPECT_EQ(list.duplicates, 1U);
}

TEST(Prefixes6, EachKindOfBadLineIsNamedWithItsRemedy) {
  const auto refused = [](const std::string& line, std::string_view remedy) {
    expect_error([&] { parse_prefixes6("::/0,1\n\n" + line, "t"); }, {"t:3: ", remedy});
  };
  refused("2001:db8::1/32,1", "the network is 2001:db8::/32");
  refused("2001:db8:4000::/33,1", "the network is 2001:db8::/33");
  refused("2001:db8:c000::/33,1", "the network is 2001:db8:8000::/33");
  refused("2001:db8::/129,1", "from 0 to 128");
  refused("2001:db8::,1", "write 2001:db8::/128");
  refused("10.0.0.0/8,1", "give it as routes4");
  refused("2001:db8:/32,1", "no IPv6 address");
  refused(std::string(80, '0') + "::/32,1", "no IPv6 address");
}

#if HAVE_ZLIB
/// A gzip-compressed file as text.
std::string unzipped(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::string text;
  char piece[65536];
  for (int got = 0; (got = gzread(file.get(), piece, sizeof piece)) > 0;) text.append(piece, static_cast<std::size_t>(got));
  return text;
}

TEST(Prefixes, RealTables) {
  NEED_SHARED_DATA("routes/rib20151101_ipv4.csv.gz");
  NEED_SHARED_DATA("routes/rib20151101_ipv6.csv.gz");
  const std::string text4 = unzipped(test::shared_data() / "routes/rib20151101_ipv4.csv.gz");
  const auto start = std::chrono::steady_clock::now();
  const PrefixList4 list4 = parse_prefixes4(text4, "ipv4");
  const auto took = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds", static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  EXPECT_EQ(list4.prefixes.size(), 606138U);  // lines of the file without the header
  EXPECT_EQ(list4.next_hops, 51788U);         // distinct second columns
  EXPECT_EQ(list4.prefixes[0], (Prefix4{0x01000000, 24, 0}));

  const PrefixList6 list6 = parse_prefixes6(unzipped(test::shared_data() / "routes/rib20151101_ipv6.csv.gz"), "ipv6");
  EXPECT_EQ(list6.prefixes.size(), 27693U);
  EXPECT_EQ(list6.next_hops, 10545U);
}
#else
TEST(Prefixes, RealTables) {
  GTEST_SKIP() << "zlib's header is not installed, and the tables are compressed";
}
#endif

TEST(Prefixes, FilesAreReadAsTextIs) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(read_prefixes4(directory.write("a.csv", "10.0.0.0/8,5\n")).prefixes, (std::vector<Prefix4>{{0x0a000000, 8, 0}}));
  EXPECT_EQ(read_prefixes6(directory.write("b.csv", "fe80::/10,5\n")).prefixes, (std::vector<Prefix6>{{{0xfe, 0x80}, 10, 0}}));
  expect_error([&] { read_prefixes6(directory.path()); }, {directory.path().string(), "is a directory"});
}

}  // namespace
}  // namespace dpubench::inputs
