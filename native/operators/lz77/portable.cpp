// lz77, engine portable: one candidate per hash, matches taken greedily, in plain C++.

#include "operators/support/codecs/lz4_block.hpp"
#include "operators/support/codecs/packing.hpp"

namespace dpubench {
namespace {

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"lz77", "portable", "greedy matches from a hash table, LZ4 block format, in plain C++", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return codec_session(work, Direction{"lz4::encode", &greedy_packer<&lz4::encode>},
                         Direction{"lz4::decode", [] { return &lz4::decode; }});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
