// lz77, engine lz4: the LZ4 library's block functions.
// requires: liblz4

#include <lz4.h>

#include "operators/engine.hpp"
#include "operators/support/codecs/codec.hpp"

namespace dpubench {
namespace {

struct Encode {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const int used = LZ4_compress_default(reinterpret_cast<const char*>(b.in[i]), reinterpret_cast<char*>(b.out[i]),
                                            static_cast<int>(b.in_len[i]), static_cast<int>(b.out_room[i]));
      b.out_len[i] = static_cast<std::uint32_t>(used);
      b.status[i] = used > 0 ? kStatusOk : kStatusRejected;
    }
  }
};

struct Decode {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const int used = LZ4_decompress_safe(reinterpret_cast<const char*>(b.in[i]), reinterpret_cast<char*>(b.out[i]),
                                           static_cast<int>(b.in_len[i]), static_cast<int>(b.out_room[i]));
      b.out_len[i] = used < 0 ? 0 : static_cast<std::uint32_t>(used);
      b.status[i] = used < 0 ? kStatusRejected : kStatusOk;
    }
  }
};

class Lz4 final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"lz77", "lz4", "LZ4_compress_default, LZ4_decompress_safe",
                                 std::string("lz4 ") + LZ4_versionString()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    if (CodecOperator::packs(work.params)) {
      return kernel_session([] { return Encode{}; }, {"chosen by library", "LZ4_compress_default", false});
    }
    return kernel_session([] { return Decode{}; }, {"chosen by library", "LZ4_decompress_safe", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Lz4>());
}
