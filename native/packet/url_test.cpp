#include "packet/url.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace dpubench::packet {
namespace {

TEST(Url, HasOneSpelling) {
  for (const auto& [given, normal] : std::vector<std::pair<const char*, const char*>>{{"", "/"},
                                                                                      {"/", "/"},
                                                                                      {"//a///b", "/a/b"},
                                                                                      {"/a/./b/../c", "/a/c"},
                                                                                      {"/..", "/"},
                                                                                      {"/a/..", "/"},
                                                                                      {"/a/b/..", "/a/"},
                                                                                      {"/%2e%2E/x", "/x"},
                                                                                      {"/%25%32%65", "/%2e"},
                                                                                      {"/%zz%4", "/%zz%4"},
                                                                                      {"x", "/x"}})
    EXPECT_EQ(normal_path(given), normal) << given;
}

}  // namespace
}  // namespace dpubench::packet
