// deflate, engine portable: hash chains, optimal length-limited codes, table-driven decoding, in plain C++.

#include "operators/deflate/levels.hpp"
#include "operators/engine.hpp"
#include "operators/support/deflate_format.hpp"
#include "operators/support/packing.hpp"

namespace dpubench {
namespace {

using In = std::span<const std::byte>;
using Out = std::span<std::byte>;

constexpr std::array<deflate::Effort, 3> kEfforts = {{{4, 16, false}, {32, 64, true}, {512, 258, true}}};

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"deflate", "portable", "hash chains, optimal codes, table-driven decoding, in plain C++", ""};
    return info;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (reuses_stream(params)) return "has no stream state: every call is stateless";
    return level_unsupported(params, "portable");
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    if (!CodecOperator::packs(work.params)) {
      return kernel_session(
          [] {
            return unpack_kernel(
                [decoder = deflate::Decompressor()](In in, Out out) mutable noexcept { return decoder.decompress(in, out); });
          },
          {"generic", "deflate::Decompressor", false});
    }
    const int level = level_of(work.params, "portable").value();
    return kernel_session(
        [effort = kEfforts[static_cast<std::size_t>(level - 1)]] {
          return pack_kernel([coder = deflate::Compressor(), effort](In in, Out out) mutable noexcept {
            return coder.compress(in, out, effort);
          });
        },
        {"generic", "portable level " + std::to_string(level), false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
