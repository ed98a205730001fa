// huffman, engine zlib-bare: what the zlib engine is measured against, a plain loop over the same library calls, with memory from
// malloc.
// requires: zlib

#include <zlib.h>

#include "../support/timed_loop.hpp"

namespace {

struct Kernel {
  bool encode;
  std::unique_ptr<z_stream> s = std::make_unique<z_stream>();

  explicit Kernel(bool encodes) : encode(encodes) {
    encode ? deflateInit2(s.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_HUFFMAN_ONLY) : inflateInit2(s.get(), -15);
  }
  Kernel(Kernel&&) = default;
  ~Kernel() {
    if (s == nullptr) return;
    encode ? deflateEnd(s.get()) : inflateEnd(s.get());
  }
  void operator()(dpubench::Burst& b) noexcept {
    for (unsigned i = 0; i < b.n; ++i) {
      encode ? deflateReset(s.get()) : inflateReset(s.get());
      s->next_in = (Bytef*)b.in[i];
      s->avail_in = b.in_len[i];
      s->next_out = (Bytef*)b.out[i];
      s->avail_out = b.out_room[i];
      b.status[i] = (encode ? deflate(s.get(), Z_FINISH) : inflate(s.get(), Z_FINISH)) != Z_STREAM_END;
      b.out_len[i] = (unsigned)s->total_out;
    }
  }
};

struct Bare final : dpubench::Engine {
  [[nodiscard]] const dpubench::EngineInfo& info() const override {
    static const dpubench::EngineInfo info{"huffman", "zlib-bare", "plain loop over the library calls", zlibVersion()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<dpubench::Session> prepare(const dpubench::Work& work) const override {
    const bool encode = work.params.is("direction", "encode");
    return dpubench::bare::timed_session([encode] { return Kernel(encode); }, {"chosen by library", "bare loop", false});
  }
};

}  // namespace

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<Bare>());
}
