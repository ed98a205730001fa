// sha256, engine portable: FIPS 180-4 as written, one message after the other.

#include <cstring>

#include "inputs/digest.hpp"
#include "operators/engine.hpp"

namespace dpubench {
namespace {

struct Kernel {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const auto digest = inputs::Sha256::of({b.in[i], b.in_len[i]});
      std::memcpy(b.out[i], digest.data(), digest.size());
      b.out_len[i] = static_cast<std::uint32_t>(digest.size());
      b.status[i] = kStatusOk;
    }
  }
};

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"sha256", "portable", "FIPS 180-4 in plain C++", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    return kernel_session([] { return Kernel{}; }, {"generic", "inputs::Sha256", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
