// deflate, engine libdeflate-bare: what the libdeflate engine is measured against, a plain loop over the same library calls.
// requires: libdeflate

#include <libdeflate.h>

#include "../support/timed_loop.hpp"

namespace {

constexpr int kDefaultLevel = 6;

struct Kernel {
  libdeflate_compressor* c = nullptr;
  libdeflate_decompressor* d = nullptr;

  explicit Kernel(bool compress) {
    if (compress) {
      c = libdeflate_alloc_compressor(kDefaultLevel);
    } else {
      d = libdeflate_alloc_decompressor();
    }
  }
  Kernel(Kernel&& other) noexcept : c(std::exchange(other.c, nullptr)), d(std::exchange(other.d, nullptr)) {}
  ~Kernel() {
    libdeflate_free_compressor(c);
    libdeflate_free_decompressor(d);
  }
  void operator()(dpubench::Burst& b) noexcept {
    for (unsigned i = 0; i < b.n; ++i) {
      std::size_t n = 0;
      if (c != nullptr) {
        n = libdeflate_deflate_compress(c, b.in[i], b.in_len[i], b.out[i], b.out_room[i]);
        b.status[i] = n == 0;
      } else {
        b.status[i] = libdeflate_deflate_decompress(d, b.in[i], b.in_len[i], b.out[i], b.out_room[i], &n) != LIBDEFLATE_SUCCESS;
      }
      b.out_len[i] = (unsigned)n;
    }
  }
};

struct Bare final : dpubench::Engine {
  [[nodiscard]] const dpubench::EngineInfo& info() const override {
    static const dpubench::EngineInfo info{"deflate", "libdeflate-bare", "plain loop over the library calls",
                                           LIBDEFLATE_VERSION_STRING};
    return info;
  }
  [[nodiscard]] std::string unsupported(const dpubench::Params& params) const override {
    if (params.is("stream", "reused")) return "has no stream state: every call is stateless";
    return params.is("level", "default") ? "" : "measures the default level only";
  }
  [[nodiscard]] std::unique_ptr<dpubench::Session> prepare(const dpubench::Work& work) const override {
    const bool compress = work.params.is("direction", "compress");
    return dpubench::bare::timed_session([compress] { return Kernel(compress); }, {"chosen by library", "bare loop", false});
  }
};

}  // namespace

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<Bare>());
}
