// toeplitz, bare loop of engine dpdk-gfni: pointers to the tuples, one rte_thash_gfni_bulk call.
// requires: libdpdk >= 21.11
// arch: x86_64

#include "operators/toeplitz/gfni.hpp"

#include "../support/timed_loop.hpp"
#include "operators/toeplitz/toeplitz.hpp"

namespace dpubench {
namespace {

class Bare final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"toeplitz", "dpdk-gfni-bare", "bare loop of rte_thash_gfni_bulk", ""};
    return info;
  }
  [[nodiscard]] std::string unavailable() const override { return toeplitz::gfni_missing(); }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    const auto& key = static_cast<const toeplitz::ToeplitzWork&>(work).key;
    std::array<std::uint64_t, 52> matrices{};
    rte_thash_complete_matrix(matrices.data(), key.data(), static_cast<int>(key.size()));
    const toeplitz::Shape shape = toeplitz::shape_of(work.params);
    const auto kernel = [matrices, shape](Burst& b) noexcept {
      std::uint8_t* tuples[kMaxBurst];
      std::uint32_t hashes[kMaxBurst];
      for (std::uint32_t i = 0; i < b.n; ++i) {
        tuples[i] = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(b.in[i])) + shape.offset;
      }
      toeplitz::gfni_bulk(matrices.data(), static_cast<int>(shape.bytes), tuples, hashes, b.n);
      for (std::uint32_t i = 0; i < b.n; ++i) b.result[i] = hashes[i];
      std::memset(b.status, kStatusOk, b.n);
    };
    return bare::timed_session([kernel] { return kernel; }, {"avx512 gfni", "rte_thash_gfni_bulk", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Bare>());
}
