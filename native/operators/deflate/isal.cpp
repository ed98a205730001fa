// deflate, engine isal: igzip of the Intelligent Storage Acceleration Library, with level buffers.
// requires: libisal

#include <isa-l.h>

#include <memory>

#include "operators/deflate/levels.hpp"
#include "operators/engine.hpp"

namespace dpubench {
namespace {

/// The compressor's state. It is large, so it is allocated once and used by address.
struct Compressor {
  isal_zstream stream;
  std::unique_ptr<std::uint8_t[]> level_buffer;
};

std::uint32_t level_buffer_bytes(int level) {
  constexpr std::uint32_t kBytes[] = {ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT, ISAL_DEF_LVL3_DEFAULT};
  return kBytes[level];
}

std::unique_ptr<Compressor> make_compressor(int level, bool reused) {
  auto compressor = std::make_unique<Compressor>();
  isal_zstream& stream = compressor->stream;
  if (reused) {
    isal_deflate_init(&stream);
  } else {
    isal_deflate_stateless_init(&stream);
  }
  const std::uint32_t bytes = level_buffer_bytes(level);
  if (bytes != 0) compressor->level_buffer = std::make_unique<std::uint8_t[]>(bytes);
  stream.level = static_cast<std::uint32_t>(level);
  stream.level_buf = compressor->level_buffer.get();
  stream.level_buf_size = bytes;
  stream.end_of_stream = 1;
  stream.flush = NO_FLUSH;
  return compressor;
}

template <class Stream>
void aim(Stream& stream, const Burst& b, std::uint32_t i) noexcept {
  // igzip does not write to its input, although the type is not const.
  stream.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(b.in[i]));
  stream.avail_in = b.in_len[i];
  stream.next_out = reinterpret_cast<std::uint8_t*>(b.out[i]);
  stream.avail_out = b.out_room[i];
}

struct StatelessCompress {
  std::unique_ptr<Compressor> compressor;
  void operator()(Burst& b) noexcept {
    isal_zstream& stream = compressor->stream;
    for (std::uint32_t i = 0; i < b.n; ++i) {
      stream.total_out = 0;
      aim(stream, b, i);
      const int code = isal_deflate_stateless(&stream);
      b.out_len[i] = b.out_room[i] - stream.avail_out;
      b.status[i] = code == COMP_OK && stream.avail_in == 0 ? kStatusOk : kStatusRejected;
    }
  }
};

struct ReusedCompress {
  std::unique_ptr<Compressor> compressor;
  void operator()(Burst& b) noexcept {
    isal_zstream& stream = compressor->stream;
    for (std::uint32_t i = 0; i < b.n; ++i) {
      isal_deflate_reset(&stream);
      stream.end_of_stream = 1;
      aim(stream, b, i);
      const int code = isal_deflate(&stream);
      b.out_len[i] = b.out_room[i] - stream.avail_out;
      b.status[i] = code == COMP_OK && stream.internal_state.state == ZSTATE_END ? kStatusOk : kStatusRejected;
    }
  }
};

struct StatelessDecompress {
  std::unique_ptr<inflate_state> state = std::make_unique<inflate_state>();
  StatelessDecompress() { isal_inflate_init(state.get()); }
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      aim(*state, b, i);
      const int code = isal_inflate_stateless(state.get());
      b.out_len[i] = b.out_room[i] - state->avail_out;
      b.status[i] = code == ISAL_DECOMP_OK && state->block_state == ISAL_BLOCK_FINISH ? kStatusOk : kStatusRejected;
    }
  }
};

struct ReusedDecompress {
  std::unique_ptr<inflate_state> state = std::make_unique<inflate_state>();
  ReusedDecompress() { isal_inflate_init(state.get()); }
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      isal_inflate_reset(state.get());
      aim(*state, b, i);
      const int code = isal_inflate(state.get());
      b.out_len[i] = b.out_room[i] - state->avail_out;
      b.status[i] = code == ISAL_DECOMP_OK && state->block_state == ISAL_BLOCK_FINISH ? kStatusOk : kStatusRejected;
    }
  }
};

class Isal final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    // The library does not report its version at run time; this is the version of the header.
    static const EngineInfo info{"deflate", "isal", "igzip: isal_deflate and isal_inflate, stateless and not",
                                 "isa-l " + std::to_string(ISAL_MAJOR_VERSION) + '.' + std::to_string(ISAL_MINOR_VERSION) + '.' +
                                     std::to_string(ISAL_PATCH_VERSION)};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override { return level_unsupported(params, "isal"); }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const bool reused = reuses_stream(work.params);
    if (!CodecOperator::packs(work.params)) {
      if (reused) {
        return kernel_session([] { return ReusedDecompress{}; },
                              {"chosen by library", "isal_inflate_reset, isal_inflate", false});
      }
      return kernel_session([] { return StatelessDecompress{}; }, {"chosen by library", "isal_inflate_stateless", false});
    }
    const int level = level_of(work.params, "isal").value();
    const std::string named =
        "isal level " + std::to_string(level) + ", level buffer of " + std::to_string(level_buffer_bytes(level)) + " B: ";
    if (reused) {
      return kernel_session([level] { return ReusedCompress{make_compressor(level, true)}; },
                            {"chosen by library", named + "isal_deflate_reset, isal_deflate", false});
    }
    return kernel_session([level] { return StatelessCompress{make_compressor(level, false)}; },
                          {"chosen by library", named + "isal_deflate_stateless", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Isal>());
}
