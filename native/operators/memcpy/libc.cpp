// memcpy, engine libc: the C library's memcpy, which picks its routine for the CPU when the program starts.

#include <algorithm>
#include <cstring>

#if defined __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "operators/engine.hpp"
#include "operators/support/status.hpp"

namespace dpubench {
namespace {

std::string library() {
#if defined __GLIBC__
  return std::string("glibc ") + gnu_get_libc_version();
#else
  return "C library";
#endif
}

struct Kernel {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) std::memcpy(b.out[i], b.in[i], b.in_len[i]);
    std::copy_n(b.in_len, b.n, b.out_len);
    accept_all(b);
  }
};

class Libc final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"memcpy", "libc", "memcpy of the C library", library()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    return kernel_session([] { return Kernel{}; }, {"chosen by library", "memcpy", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Libc>());
}
