// The unpacking side of the portable engines that write RFC 1951 streams (deflate, huffman): it reads every such stream.
#pragma once

#include <cstddef>
#include <span>

#include "operators/support/codecs/deflate_format.hpp"
#include "operators/support/codecs/packing.hpp"

namespace dpubench::deflate {

using In = std::span<const std::byte>;
using Out = std::span<std::byte>;

inline auto unpacking() {
  return Direction{"deflate::Decompressor", [] {
                     return [decoder = Decompressor()](In in, Out out) mutable noexcept { return decoder.decompress(in, out); };
                   }};
}

}  // namespace dpubench::deflate
