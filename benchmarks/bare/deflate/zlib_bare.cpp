// deflate, engine zlib-bare: what the zlib engine is measured against, a plain loop over the same library calls.
// requires: zlib

#include <zlib.h>

#include "../support/timed_loop.hpp"

namespace {

constexpr int kDefaultLevel = 6;

struct Kernel {
  bool compress;
  bool reused;
  std::unique_ptr<z_stream> s = std::make_unique<z_stream>();

  Kernel(bool compresses, bool reuses) : compress(compresses), reused(reuses) {
    if (reused) open();
  }
  Kernel(Kernel&&) = default;
  ~Kernel() {
    if (s != nullptr && reused) close();
  }
  void open() noexcept {
    s->zalloc = nullptr;
    s->zfree = nullptr;
    compress ? deflateInit2(s.get(), kDefaultLevel, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) : inflateInit2(s.get(), -15);
  }
  void close() noexcept { compress ? deflateEnd(s.get()) : inflateEnd(s.get()); }
  void operator()(dpubench::Burst& b) noexcept {
    for (unsigned i = 0; i < b.n; ++i) {
      s->next_in = (Bytef*)b.in[i];
      s->avail_in = b.in_len[i];
      if (!reused) {
        open();
      } else {
        compress ? deflateReset(s.get()) : inflateReset(s.get());
      }
      s->next_out = (Bytef*)b.out[i];
      s->avail_out = b.out_room[i];
      b.status[i] = (compress ? deflate(s.get(), Z_FINISH) : inflate(s.get(), Z_FINISH)) != Z_STREAM_END;
      b.out_len[i] = (unsigned)s->total_out;
      if (!reused) close();
    }
  }
};

struct Bare final : dpubench::Engine {
  [[nodiscard]] const dpubench::EngineInfo& info() const override {
    static const dpubench::EngineInfo info{"deflate", "zlib-bare", "plain loop over the library calls", zlibVersion()};
    return info;
  }
  [[nodiscard]] std::string unsupported(const dpubench::Params& params) const override {
    return params.is("level", "default") ? "" : "measures the default level only";
  }
  [[nodiscard]] std::unique_ptr<dpubench::Session> prepare(const dpubench::Work& work) const override {
    const bool compress = work.params.is("direction", "compress");
    const bool reused = work.params.is("stream", "reused");
    return dpubench::bare::timed_session([compress, reused] { return Kernel(compress, reused); },
                                         {"chosen by library", "bare loop", false});
  }
};

}  // namespace

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<Bare>());
}
