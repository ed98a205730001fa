// toeplitz, engines dpdk and dpdk-be: rte_softrss, and rte_softrss_be with the key converted beforehand.
// requires: libdpdk >= 20.11

// Both take the tuple in host byte order: `be` refers to the key.

#include <rte_thash.h>
#include <rte_version.h>

#include "operators/engine.hpp"
#include "operators/support/status.hpp"
#include "operators/toeplitz/toeplitz.hpp"

namespace dpubench {
namespace {

using toeplitz::Shape;
using toeplitz::ToeplitzWork;

constexpr std::size_t kLongestKey = 52;
using Key = std::array<std::uint32_t, kLongestKey / 4>;  // words, because the functions read the key so, whatever their signature
                                                         // says

/// Return the key. Each lane holds its own copy, because every hash reads it.
Key key_of(const ToeplitzWork& work) {
  Key key{};
  std::memcpy(key.data(), work.key.data(), std::min(work.key.size(), sizeof key));
  return key;
}

/// Hash a tuple. The function is called and never inlined: in a loop over packets, the compiler runs out of registers and keeps
/// the innermost loop's values on the stack, which costs up to a quarter of the rate.
template <std::size_t kWords, bool kConverted>
[[gnu::noinline]] std::uint32_t hash(std::array<std::uint32_t, kWords>& words, const Key& key) noexcept {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(key.data());
  return kConverted ? rte_softrss_be(words.data(), kWords, bytes) : rte_softrss(words.data(), kWords, bytes);
}

template <Shape kShape, bool kConverted>
struct Kernel {
  Key key;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      auto words = toeplitz::host_words<kShape>(b.in[i]);
      b.result[i] = hash<words.size(), kConverted>(words, key);
    }
    accept_all(b);
  }
};

class SoftRss final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"toeplitz", "dpdk", "rte_softrss", rte_version()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return toeplitz::session_for(
        work.params,
        [key = key_of(static_cast<const ToeplitzWork&>(work))]<Shape kShape>() { return Kernel<kShape, false>{key}; },
        {"generic", "rte_softrss", false});
  }
};

class SoftRssBe final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"toeplitz", "dpdk-be", "rte_softrss_be, key converted by rte_convert_rss_key", rte_version()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const Key key = key_of(static_cast<const ToeplitzWork&>(work));
    Key converted{};
    rte_convert_rss_key(key.data(), converted.data(), sizeof key);
    return toeplitz::session_for(work.params, [converted]<Shape kShape>() { return Kernel<kShape, true>{converted}; },
                                 {"generic", "rte_softrss_be", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::SoftRss>());
  sink.add(std::make_unique<dpubench::SoftRssBe>());
}
