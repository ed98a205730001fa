// deflate, engine libdeflate: whole-buffer compression and decompression.
// requires: libdeflate

#include <libdeflate.h>

#include "operators/deflate/levels.hpp"
#include "operators/engine.hpp"

namespace dpubench {
namespace {

struct Compress {
  std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor;
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const std::size_t used = libdeflate_deflate_compress(compressor.get(), b.in[i], b.in_len[i], b.out[i], b.out_room[i]);
      b.out_len[i] = static_cast<std::uint32_t>(used);
      b.status[i] = used != 0 ? kStatusOk : kStatusRejected;
    }
  }
};

struct Decompress {
  std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor;
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::size_t used = 0;
      const libdeflate_result result =
          libdeflate_deflate_decompress(decompressor.get(), b.in[i], b.in_len[i], b.out[i], b.out_room[i], &used);
      b.out_len[i] = static_cast<std::uint32_t>(used);
      b.status[i] = result == LIBDEFLATE_SUCCESS ? kStatusOk : kStatusRejected;
    }
  }
};

class Libdeflate final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    // The library does not report its version at run time; this is the version of the header.
    static const EngineInfo info{"deflate", "libdeflate", "libdeflate_deflate_compress, libdeflate_deflate_decompress",
                                 "libdeflate " LIBDEFLATE_VERSION_STRING};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (reuses_stream(params)) return "has no stream state: every call is stateless";
    return level_unsupported(params, "libdeflate");
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    if (!CodecOperator::packs(work.params)) {
      return kernel_session(
          [] {
            Decompress kernel{{libdeflate_alloc_decompressor(), &libdeflate_free_decompressor}};
            if (kernel.decompressor == nullptr) throw Error("libdeflate_alloc_decompressor: out of memory");
            return kernel;
          },
          {"chosen by library", "libdeflate_deflate_decompress", false});
    }
    const int level = level_of(work.params, "libdeflate").value();
    return kernel_session(
        [level] {
          Compress kernel{{libdeflate_alloc_compressor(level), &libdeflate_free_compressor}};
          if (kernel.compressor == nullptr) throw Error("libdeflate_alloc_compressor: out of memory");
          return kernel;
        },
        {"chosen by library", "libdeflate level " + std::to_string(level), false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Libdeflate>());
}
