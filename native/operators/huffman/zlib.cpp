// huffman, engine zlib: deflate with Z_HUFFMAN_ONLY, and inflate; one stream per thread, reset for every message.
// requires: zlib

#include "operators/support/codecs/zlib.hpp"

#include "operators/engine.hpp"
#include "operators/support/codecs/codec.hpp"

namespace dpubench {
namespace {

class Zlib final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"huffman", "zlib", "deflate with Z_HUFFMAN_ONLY, inflate", zlib::version()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    if (CodecOperator::packs(work.params)) {
      return kernel_session([] { return zlib::Deflater(Z_DEFAULT_COMPRESSION, Z_HUFFMAN_ONLY); },
                            {"chosen by library", "deflateReset, deflate, Z_HUFFMAN_ONLY", false});
    }
    return kernel_session([] { return zlib::Inflater(); }, {"chosen by library", "inflateReset, inflate", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Zlib>());
}
