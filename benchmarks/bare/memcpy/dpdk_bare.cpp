// memcpy, bare loop of engine dpdk: rte_memcpy, message after message.
// requires: libdpdk >= 20.11

#include <rte_memcpy.h>

#include "../support/timed_loop.hpp"

namespace dpubench {
namespace {

void copy_all(Burst& b) noexcept {
  const std::byte* const* in = b.in;
  const std::uint32_t* length = b.in_len;
  std::byte* const* out = b.out;
  for (std::uint32_t left = b.n; left != 0; --left) rte_memcpy(*out++, *in++, *length++);
  for (std::uint32_t i = 0; i < b.n; ++i) {
    b.out_len[i] = b.in_len[i];
    b.status[i] = kStatusOk;
  }
}

class Bare final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"memcpy", "dpdk-bare", "bare loop of rte_memcpy", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    return bare::timed_session([] { return copy_all; }, {"", "rte_memcpy", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Bare>());
}
