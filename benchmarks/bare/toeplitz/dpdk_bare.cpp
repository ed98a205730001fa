// toeplitz, bare loops of engines dpdk and dpdk-be: the tuple in host byte order, one rte_softrss call.
// requires: libdpdk >= 20.11

#include <rte_thash.h>

#include "../support/timed_loop.hpp"
#include "operators/toeplitz/toeplitz.hpp"

namespace dpubench {
namespace {

using Key = std::array<std::uint32_t, 13>;

/// @tparam kWords  of the tuple; as a constant, as in a program that hashes one kind of packet
template <std::uint32_t kOffset, std::uint32_t kWords, bool kBe>
void hash_all(const Key& key, Burst& b) noexcept {
  for (std::uint32_t i = 0; i < b.n; ++i) {
    std::uint32_t words[kWords];
    std::memcpy(words, b.in[i] + kOffset, sizeof words);
    for (std::uint32_t& word : words) word = __builtin_bswap32(word);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(key.data());
    b.result[i] = kBe ? rte_softrss_be(words, kWords, bytes) : rte_softrss(words, kWords, bytes);
  }
  std::memset(b.status, kStatusOk, b.n);
}

template <bool kBe>
class Bare final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"toeplitz", kBe ? "dpdk-be-bare" : "dpdk-bare", "bare loop of rte_softrss", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const auto& bytes = static_cast<const toeplitz::ToeplitzWork&>(work).key;
    Key key{};
    std::memcpy(key.data(), bytes.data(), bytes.size());
    if (kBe) rte_convert_rss_key(Key(key).data(), key.data(), sizeof key);
    const bool ports = work.params.is("tuple", "4");
    auto* loop = ports ? &hash_all<12, 3, kBe> : &hash_all<12, 2, kBe>;
    if (work.params.is("ip_version", "6")) loop = ports ? &hash_all<8, 9, kBe> : &hash_all<8, 8, kBe>;
    return bare::timed_session([key, loop] { return [key, loop](Burst& b) noexcept { loop(key, b); }; },
                               {"", "rte_softrss", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Bare<false>>());
  sink.add(std::make_unique<dpubench::Bare<true>>());
}
