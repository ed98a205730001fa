// memcpy, bare loop of engine libc: memcpy, message after message.

#include <cstring>

#include "../support/timed_loop.hpp"

namespace dpubench {
namespace {

void copy_all(Burst& b) noexcept {
  const std::byte* const* in = b.in;
  const std::uint32_t* length = b.in_len;
  std::byte* const* out = b.out;
  for (std::uint32_t left = b.n; left != 0; --left) std::memcpy(*out++, *in++, *length++);
  for (std::uint32_t i = 0; i < b.n; ++i) {
    b.out_len[i] = b.in_len[i];
    b.status[i] = kStatusOk;
  }
}

class Bare final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"memcpy", "libc-bare", "bare loop of memcpy", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    return bare::timed_session([] { return copy_all; }, {"", "memcpy", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Bare>());
}
