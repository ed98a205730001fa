// deflate, engine isal-bare: what the isal engine is measured against, a plain loop over the same library calls.
// requires: libisal

#include <isa-l.h>

#include "../support/timed_loop.hpp"

namespace {

constexpr unsigned kDefaultLevel = 2;

struct State {
  isal_zstream z{};
  inflate_state x{};
  std::vector<std::uint8_t> level_buffer = std::vector<std::uint8_t>(ISAL_DEF_LVL2_DEFAULT);
};

struct Kernel {
  bool compress;
  bool reused;
  std::unique_ptr<State> s = std::make_unique<State>();

  Kernel(bool compresses, bool reuses) : compress(compresses), reused(reuses) {
    reused ? isal_deflate_init(&s->z) : isal_deflate_stateless_init(&s->z);
    isal_inflate_init(&s->x);
    s->z.level = kDefaultLevel;
    s->z.level_buf = s->level_buffer.data();
    s->z.level_buf_size = (unsigned)s->level_buffer.size();
    s->z.end_of_stream = 1;
  }
  void operator()(dpubench::Burst& b) noexcept {
    for (unsigned i = 0; i < b.n; ++i) {
      if (compress) {
        isal_zstream& z = s->z;
        if (reused) isal_deflate_reset(&z);
        z.end_of_stream = 1;
        z.total_out = 0;
        z.next_in = (std::uint8_t*)b.in[i];
        z.avail_in = b.in_len[i];
        z.next_out = (std::uint8_t*)b.out[i];
        z.avail_out = b.out_room[i];
        b.status[i] = (reused ? isal_deflate(&z) : isal_deflate_stateless(&z)) != COMP_OK;
        b.out_len[i] = z.total_out;
      } else {
        inflate_state& x = s->x;
        if (reused) isal_inflate_reset(&x);
        x.next_in = (std::uint8_t*)b.in[i];
        x.avail_in = b.in_len[i];
        x.next_out = (std::uint8_t*)b.out[i];
        x.avail_out = b.out_room[i];
        const int code = reused ? isal_inflate(&x) : isal_inflate_stateless(&x);
        b.status[i] = code != ISAL_DECOMP_OK || x.block_state != ISAL_BLOCK_FINISH;
        b.out_len[i] = b.out_room[i] - x.avail_out;
      }
    }
  }
};

struct Bare final : dpubench::Engine {
  [[nodiscard]] const dpubench::EngineInfo& info() const override {
    static const dpubench::EngineInfo info{"deflate", "isal-bare", "plain loop over the library calls", "isa-l"};
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
