// deflate, engine portable: hash chains, optimal length-limited codes, table-driven decoding, in plain C++.

#include "operators/deflate/levels.hpp"
#include "operators/support/codecs/deflate_packing.hpp"

namespace dpubench {
namespace {

using deflate::In;
using deflate::Out;

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
    const int level = level_of(work.params, "portable").value();
    const deflate::Effort effort = kEfforts[static_cast<std::size_t>(level - 1)];
    const auto pack = [effort] {
      return [coder = deflate::Compressor(), effort](In in, Out out) mutable noexcept { return coder.compress(in, out, effort); };
    };
    return codec_session(work, Direction{"portable level " + std::to_string(level), pack}, deflate::unpacking());
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
