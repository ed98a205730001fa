#include "measure/region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace dpubench::measure {
namespace {

[[gnu::noinline]] int marked(int messages) {
  int work = 0;
  open_region();
  for (int i = 0; i < messages; ++i) {
    next_message();
    work += i;
  }
  close_region();
  return work;
}

TEST(Region, MarksDoNothingOnAProcessorAndAreInTheCode) {
  EXPECT_EQ(marked(5), 10);
#if defined(__aarch64__)
  const std::array<std::array<std::uint8_t, 4>, 3> marks = {
      {{0x1f, 0x2a, 0x03, 0xd5}, {0x5f, 0x2a, 0x03, 0xd5}, {0x3f, 0x2a, 0x03, 0xd5}}};
#elif defined(__x86_64__)
  const std::array<std::array<std::uint8_t, 7>, 3> marks = {{{0x0f, 0x1f, 0x80, 0x50, 'd', 'p', 'u'},
                                                             {0x0f, 0x1f, 0x80, 0x52, 'd', 'p', 'u'},
                                                             {0x0f, 0x1f, 0x80, 0x51, 'd', 'p', 'u'}}};
#else
  const std::array<std::array<std::uint8_t, 1>, 0> marks = {};
#endif
  // In this order, within the function's first bytes: the loop is a handful of instructions.
  const auto* code = reinterpret_cast<const std::uint8_t*>(&marked);
  const std::uint8_t* at = code;
  for (const auto& mark : marks) {
    at = std::search(at, code + 512, mark.begin(), mark.end());
    ASSERT_NE(at, code + 512);
  }
}

}  // namespace
}  // namespace dpubench::measure
