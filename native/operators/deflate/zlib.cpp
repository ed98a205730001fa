// deflate, engine zlib: deflate and inflate on raw streams.
// requires: zlib

#include "operators/support/codecs/zlib.hpp"

#include "operators/deflate/levels.hpp"
#include "operators/engine.hpp"

namespace dpubench {
namespace {

/// The steps of compress2() and uncompress() for every message, but on raw streams and without malloc.
struct StatelessCompress {
  int level;
  zlib::Arena arena{};
  std::unique_ptr<z_stream> stream = std::make_unique<z_stream>();

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      arena.attach(*stream);
      zlib::aim(*stream, b, i);
      int code = deflateInit2(stream.get(), level, Z_DEFLATED, zlib::kRawWindowBits, zlib::kMemoryLevel, Z_DEFAULT_STRATEGY);
      if (code == Z_OK) code = deflate(stream.get(), Z_FINISH);
      zlib::settle(b, i, code, *stream);
      deflateEnd(stream.get());
    }
  }
};

struct StatelessDecompress {
  zlib::Arena arena{};
  std::unique_ptr<z_stream> stream = std::make_unique<z_stream>();

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      arena.attach(*stream);
      zlib::aim(*stream, b, i);
      int code = inflateInit2(stream.get(), zlib::kRawWindowBits);
      if (code == Z_OK) code = inflate(stream.get(), Z_FINISH);
      zlib::settle(b, i, code, *stream);
      inflateEnd(stream.get());
    }
  }
};

class Zlib final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"deflate", "zlib", "deflate and inflate on raw streams", zlib::version()};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override { return level_unsupported(params, "zlib"); }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const bool reused = reuses_stream(work.params);
    if (!CodecOperator::packs(work.params)) {
      if (reused) return kernel_session([] { return zlib::Inflater(); }, {"chosen by library", "inflateReset, inflate", false});
      return kernel_session([] { return StatelessDecompress{}; },
                            {"chosen by library", "inflateInit2, inflate, inflateEnd; memory not from malloc", false});
    }
    const int level = level_of(work.params, "zlib").value();
    const std::string named = "zlib level " + std::to_string(level);
    if (reused) {
      return kernel_session([level] { return zlib::Deflater(level, Z_DEFAULT_STRATEGY); },
                            {"chosen by library", named + ": deflateReset, deflate", false});
    }
    return kernel_session([level] { return StatelessCompress{level}; },
                          {"chosen by library", named + ": deflateInit2, deflate, deflateEnd; memory not from malloc", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Zlib>());
}
