// lz77, engine portable: one candidate per hash, matches taken greedily, in plain C++.

#include "operators/engine.hpp"
#include "operators/support/codec.hpp"
#include "operators/support/lz4_block.hpp"
#include "operators/support/packing.hpp"

namespace dpubench {
namespace {

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"lz77", "portable", "greedy matches from a hash table, LZ4 block format, in plain C++", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    if (!CodecOperator::packs(work.params)) {
      return kernel_session([] { return unpack_kernel(&lz4::decode); }, {"generic", "lz4::decode", false});
    }
    return kernel_session(
        [] {
          return pack_kernel(
              [matches = std::make_unique<GreedyMatches>()](std::span<const std::byte> in, std::span<std::byte> out) noexcept {
                return lz4::encode(in, out, *matches);
              });
        },
        {"generic", "lz4::encode", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
