// huffman, engine portable: optimal length-limited codes in one dynamic block, in plain C++.

#include "operators/engine.hpp"
#include "operators/support/codec.hpp"
#include "operators/support/deflate_format.hpp"
#include "operators/support/packing.hpp"

namespace dpubench {
namespace {

using In = std::span<const std::byte>;
using Out = std::span<std::byte>;

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"huffman", "portable",
                                 "one dynamic block with the optimal code of at most 15 bits, in plain C++", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    if (CodecOperator::packs(work.params)) {
      return kernel_session(
          [] {
            return pack_kernel(
                [coder = deflate::Compressor()](In in, Out out) mutable noexcept { return coder.huffman_block(in, out); });
          },
          {"generic", "deflate::Compressor::huffman_block", false});
    }
    return kernel_session(
        [] {
          return unpack_kernel(
              [decoder = deflate::Decompressor()](In in, Out out) mutable noexcept { return decoder.decompress(in, out); });
        },
        {"generic", "deflate::Decompressor", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
