// lz77, engine lz4-bare: what the lz4 engine is measured against, a plain loop over the same library calls.
// requires: liblz4

#include <lz4.h>

#include "../support/timed_loop.hpp"

namespace {

struct Bare final : dpubench::Engine {
  [[nodiscard]] const dpubench::EngineInfo& info() const override {
    static const dpubench::EngineInfo info{"lz77", "lz4-bare", "plain loop over the library calls", LZ4_versionString()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<dpubench::Session> prepare(const dpubench::Work& work) const override {
    const bool encode = work.params.is("direction", "encode");
    const auto loop = encode ? +[](dpubench::Burst& b) noexcept {
      for (unsigned i = 0; i < b.n; ++i) {
        const int n = LZ4_compress_default((const char*)b.in[i], (char*)b.out[i], (int)b.in_len[i], (int)b.out_room[i]);
        b.out_len[i] = (unsigned)n;
        b.status[i] = n <= 0;
      }
    } : +[](dpubench::Burst& b) noexcept {
      for (unsigned i = 0; i < b.n; ++i) {
        const int n = LZ4_decompress_safe((const char*)b.in[i], (char*)b.out[i], (int)b.in_len[i], (int)b.out_room[i]);
        b.out_len[i] = (unsigned)n;
        b.status[i] = n < 0;
      }
    };
    return dpubench::bare::timed_session([loop] { return loop; }, {"chosen by library", "bare loop", false});
  }
};

}  // namespace

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<Bare>());
}
