// snappy, engine portable: the Snappy format in plain C++, greedy matches from a hash table.

#include "operators/engine.hpp"
#include "operators/support/codec.hpp"
#include "operators/support/packing.hpp"
#include "operators/support/snappy_format.hpp"

namespace dpubench {
namespace {

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"snappy", "portable", "Snappy format with greedy matches from a hash table, in plain C++", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    if (!CodecOperator::packs(work.params)) {
      return kernel_session([] { return unpack_kernel(&snappy_format::decode); }, {"generic", "snappy_format::decode", false});
    }
    return kernel_session(
        [] {
          return pack_kernel(
              [matches = std::make_unique<GreedyMatches>()](std::span<const std::byte> in, std::span<std::byte> out) noexcept {
                return snappy_format::encode(in, out, *matches);
              });
        },
        {"generic", "snappy_format::encode", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
