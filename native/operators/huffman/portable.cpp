// huffman, engine portable: optimal length-limited codes in one dynamic block, in plain C++.

#include "operators/support/codecs/deflate_packing.hpp"

namespace dpubench {
namespace {

using deflate::In;
using deflate::Out;

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"huffman", "portable",
                                 "one dynamic block with the optimal code of at most 15 bits, in plain C++", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const auto pack = [] {
      return [coder = deflate::Compressor()](In in, Out out) mutable noexcept { return coder.huffman_block(in, out); };
    };
    return codec_session(work, Direction{"deflate::Compressor::huffman_block", pack}, deflate::unpacking());
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
