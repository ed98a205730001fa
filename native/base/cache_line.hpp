// Lines of a cache, for what is laid out by them.
#pragma once

#include <cstddef>

namespace dpubench {

/// Bytes of a line of the processors that are supported.
inline constexpr std::size_t kCacheLine = 64;

/// Return `bytes`, rounded up to whole lines.
constexpr std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace dpubench
