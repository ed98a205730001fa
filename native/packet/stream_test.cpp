#include "packet/stream.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace dpubench::packet {
namespace {

TEST(Stream, KeepsTheFirstCopyAndTheOrder) {
  Stream stream;
  std::string all;
  const auto add = [&](std::uint32_t sequence, std::string_view text) {
    stream.add(sequence, false, text, [&](std::string_view octets) { all += octets; });
  };
  add(10, "ab");
  add(16, "GH");
  add(14, "efghij");  // the octets that arrived before stay
  add(5, "12345AB");  // old
  EXPECT_EQ(all, "ab");
  add(11, "XcdEF");  // the second copy of "b" and of "ef" counts for nothing
  EXPECT_EQ(all, "abcdefGHij");
  add(22, "m");
  add(24, "o");
  add(30 + (1U << 16), "far");  // the missing octets were lost
  EXPECT_EQ(all, "abcdefGHijmofar");
  add(20, "kl");  // too late
  add(40 + (1U << 16), "end");
  stream.end([&](std::string_view octets) { all += octets; });
  EXPECT_EQ(all, "abcdefGHijmofarend");
}

}  // namespace
}  // namespace dpubench::packet
