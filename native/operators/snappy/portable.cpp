// snappy, engine portable: the Snappy format in plain C++, greedy matches from a hash table.

#include "operators/support/codecs/packing.hpp"
#include "operators/support/codecs/snappy_format.hpp"

namespace dpubench {
namespace {

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"snappy", "portable", "Snappy format with greedy matches from a hash table, in plain C++", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return codec_session(work, Direction{"snappy_format::encode", &greedy_packer<&snappy_format::encode>},
                         Direction{"snappy_format::decode", [] { return &snappy_format::decode; }});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
