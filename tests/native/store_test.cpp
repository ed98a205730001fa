#include "inputs/store.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "capture_builder.hpp"
#include "expect_error.hpp"
#include "inputs/digest.hpp"
#include "inputs/file.hpp"
#include "temporary_directory.hpp"

namespace dpubench::inputs {
namespace {

using namespace test;

std::vector<std::byte> bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

std::string sha256(std::string_view text) {
  return Sha256::hex(Sha256::of(std::as_bytes(std::span(text))));
}

TEST(Store, AMissingInputSaysHowToGiveIt) {
  Store store({{"corpus", {}}}, 1);
  EXPECT_FALSE(store.has("corpus"));
  EXPECT_FALSE(store.has("routes4"));
  expect_error([&] { store.routes4(); }, {"--input routes4=FILE", "python3-pyasn"});
  expect_error([&] { store.routes6(); }, {"--input routes6=FILE", "python3-pyasn"});
  expect_error([&] { store.rules(); }, {"--input rules=FILE", "modsecurity-crs"});
  expect_error([&] { store.capture(); }, {"--input capture=FILE"});
  expect_error([&] { store.corpus(); }, {"--input corpus=FILE"});
}

TEST(Store, UnknownKindsAndTooManyFilesAreRefused) {
  expect_error([] { Store({{"routes", {"/x"}}}, 1); }, {"\"routes\"", "routes4 routes6 rules capture corpus"});
  expect_error([] { Store({{"rules", {"/x/a", "/x/b"}}}, 1); }, {"input rules: 2 files", "a, b"});
}

TEST(Store, ReadsEachInputOnceAndIdentifiesIt) {
  const TemporaryDirectory directory;
  const auto routes4 = directory.write("r4.csv", "10.0.0.0/8,1\n10.0.0.0/8,2\n");
  const auto routes6 = directory.write("r6.csv", "::/0,1\n");
  const auto rules = directory.write("r.regex", "1:/a/\nbad\n");
  directory.write("texts/b", "bb");
  directory.write("texts/a", "aa");
  Store store({{"routes4", {routes4}}, {"routes6", {routes6}}, {"rules", {rules}}, {"corpus", {directory.path() / "texts/"}}}, 1);
  EXPECT_TRUE(store.identities().empty());
  EXPECT_EQ(store.routes4().prefixes.size(), 1U);
  EXPECT_EQ(&store.routes4(), &store.routes4());
  EXPECT_EQ(store.routes6().prefixes.size(), 1U);
  EXPECT_EQ(store.rules().rules.size(), 1U);
  EXPECT_EQ(store.corpus().files.size(), 2U);
  EXPECT_EQ(store.identities().size(), 4U);
  EXPECT_EQ(store.identity("routes4").name, "r4.csv");
  EXPECT_EQ(store.identity("routes4").sha256, sha256("10.0.0.0/8,1\n10.0.0.0/8,2\n"));
  EXPECT_EQ(store.identity("rules").sha256, sha256("1:/a/\nbad\n"));
  EXPECT_EQ(store.identity("corpus").name, "texts");
  EXPECT_EQ(store.identity("corpus").sha256, sha256("aabb"));
  EXPECT_THROW(static_cast<void>(store.identity("capture")), std::invalid_argument);
  ASSERT_EQ(store.notes().size(), 2U);
  EXPECT_NE(store.notes()[0].find("1 line repeats a prefix"), std::string::npos);
  EXPECT_NE(store.notes()[1].find("r.regex:2: "), std::string::npos);
}

TEST(Store, ConcatenatesCapturesAndNotesWhatWasPassedOver) {
  const TemporaryDirectory directory;
  const auto file = [&](const std::string& name, const std::vector<std::byte>& content) {
    return directory.write(name, as_text(content));
  };
  const auto v4 = ipv4(17, udp());
  const auto first = pcap(101, {v4, {}});
  auto second = pcap(1, {join(hex("000000000000000000000000 0800"), v4), hex("000000000000000000000000 0806 00"),
                         hex("000000000000000000000000 88cc")});
  second.push_back(std::byte{0});
  Store store({{"capture", {file("a.pcap", first), file("b.pcap", second)}}}, 1);
  const Capture& capture = store.capture();
  ASSERT_EQ(capture.packets.size(), 2U);
  EXPECT_EQ(as_text(capture.ip(capture.packets[1])), as_text(v4));
  EXPECT_EQ(store.identity("capture").name, "a.pcap, b.pcap");
  EXPECT_EQ(store.identity("capture").sha256, Sha256::hex(Sha256::of(join(first, second))));
  ASSERT_EQ(store.notes().size(), 3U);
  EXPECT_NE(store.notes()[0].find("a.pcap: 1 frame with a cut off"), std::string::npos) << store.notes()[0];
  EXPECT_NE(store.notes()[1].find("b.pcap: 2 frames without IP"), std::string::npos) << store.notes()[1];
  EXPECT_NE(store.notes()[2].find("b.pcap: ends inside a record"), std::string::npos) << store.notes()[2];
}

TEST(Store, OneCaptureWithoutIpAmongOthersIsRefused) {
  const TemporaryDirectory directory;
  const auto good = directory.write("good.pcap", as_text(pcap(101, {ipv4(17, udp())})));
  const auto bad = directory.write("bad.pcap", as_text(pcap(101, {})));
  Store store({{"capture", {good, bad}}}, 1);
  expect_error([&] { store.capture(); }, {"bad.pcap: holds no IP packet"});
  EXPECT_TRUE(store.identities().empty());
}

TEST(Store, EachPurposeHasItsOwnDraws) {
  const Store one({}, 1);
  const Store other({}, 2);
  EXPECT_EQ(one.seed(), 1U);
  EXPECT_EQ(one.random("lpm").next(), one.random("lpm").next());
  EXPECT_NE(one.random("lpm").next(), one.random("aes").next());
  EXPECT_NE(one.random("lpm").next(), other.random("lpm").next());
}

class CacheTest : public testing::Test {
 protected:
  /// What cached() gives and whether it was built.
  std::pair<std::string, bool> get(const Store& store, const std::string& key, const std::string& content) {
    bool is_built = false;
    const auto result = store.cached(key, [&] {
      is_built = true;
      return bytes(content);
    });
    return {std::string(as_text(result)), is_built};
  }
  TemporaryDirectory directory_;
};

TEST_F(CacheTest, BuildsOnceAndKeepsAcrossStores) {
  const auto cache = directory_.path() / "deep/cache";
  const Store store({}, 1, cache);
  EXPECT_EQ(get(store, "k", "one"), std::pair(std::string("one"), true));
  EXPECT_EQ(get(store, "k", "two"), std::pair(std::string("one"), false));
  EXPECT_EQ(get(store, "other/../key", ""), std::pair(std::string(), true));
  EXPECT_EQ(get(Store({}, 2, cache), "other/../key", "x"), std::pair(std::string(), false));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cache)) {
    EXPECT_NE(entry.path().extension(), ".tmp");
    ++files;
  }
  EXPECT_EQ(files, 2U);
}

TEST_F(CacheTest, DamagedEntriesAreBuiltAgain) {
  const Store store({}, 1, directory_.path());
  get(store, "k", "one");
  const std::filesystem::path entry = std::filesystem::directory_iterator(directory_.path())->path();
  std::fstream(entry, std::ios::in | std::ios::out | std::ios::binary).seekp(33).put('!');
  EXPECT_EQ(get(store, "k", "two"), std::pair(std::string("two"), true));
  EXPECT_EQ(get(store, "k", "three"), std::pair(std::string("two"), false));
  std::filesystem::resize_file(entry, 10);
  EXPECT_EQ(get(store, "k", "four"), std::pair(std::string("four"), true));
}

TEST_F(CacheTest, AnEntryOfAnotherKeyIsNotTaken) {
  const Store store({}, 1, directory_.path());
  get(store, "k", "one");
  const std::filesystem::path entry = std::filesystem::directory_iterator(directory_.path())->path();
  std::filesystem::rename(entry, directory_.path() / sha256("wanted"));
  EXPECT_EQ(get(store, "wanted", "two"), std::pair(std::string("two"), true));
}

TEST_F(CacheTest, WithoutAPlaceToKeepItBuildsEachTime) {
  EXPECT_EQ(get(Store({}, 1), "k", "one"), std::pair(std::string("one"), true));
  const auto file = directory_.write("file", "not a directory");
  const Store store({}, 1, file / "cache");
  EXPECT_EQ(get(store, "k", "one"), std::pair(std::string("one"), true));
  EXPECT_EQ(get(store, "k", "two"), std::pair(std::string("two"), true));
}

TEST_F(CacheTest, ABuildThatFailsLeavesNothing) {
  const Store store({}, 1, directory_.path());
  expect_error([&] { static_cast<void>(store.cached("k", []() -> std::vector<std::byte> { throw Error("does not compile"); })); },
               {"does not compile"});
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

}  // namespace
}  // namespace dpubench::inputs
