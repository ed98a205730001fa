// snappy, engine snappy-bare: what the snappy engine is measured against, a plain loop over the same library calls.
// requires: snappy

#include <snappy.h>

#include "../support/timed_loop.hpp"

namespace {

struct Bare final : dpubench::Engine {
  [[nodiscard]] const dpubench::EngineInfo& info() const override {
    static const dpubench::EngineInfo info{"snappy", "snappy-bare", "plain loop over the library calls", "snappy"};
    return info;
  }
  [[nodiscard]] std::unique_ptr<dpubench::Session> prepare(const dpubench::Work& work) const override {
    const bool compress = work.params.is("direction", "compress");
    const auto loop = compress ? +[](dpubench::Burst& b) noexcept {
      for (unsigned i = 0; i < b.n; ++i) {
        std::size_t n = 0;
        snappy::RawCompress((const char*)b.in[i], b.in_len[i], (char*)b.out[i], &n);
        b.out_len[i] = (unsigned)n;
        b.status[i] = 0;
      }
    } : +[](dpubench::Burst& b) noexcept {
      for (unsigned i = 0; i < b.n; ++i) {
        std::size_t n = 0;
        bool ok = snappy::GetUncompressedLength((const char*)b.in[i], b.in_len[i], &n) && n <= b.out_room[i];
        ok = ok && snappy::RawUncompress((const char*)b.in[i], b.in_len[i], (char*)b.out[i]);
        b.out_len[i] = (unsigned)n;
        b.status[i] = !ok;
      }
    };
    return dpubench::bare::timed_session([loop] { return loop; }, {"chosen by library", "bare loop", false});
  }
};

}  // namespace

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<Bare>());
}
