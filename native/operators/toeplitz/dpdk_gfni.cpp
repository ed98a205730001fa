// toeplitz, engine dpdk-gfni: rte_thash_gfni_bulk over the whole burst.
// requires: libdpdk >= 21.11
// arch: x86_64

#include "operators/toeplitz/gfni.hpp"

#include <rte_version.h>

#include "operators/engine.hpp"
#include "operators/support/status.hpp"
#include "operators/toeplitz/toeplitz.hpp"

namespace dpubench {
namespace {

using toeplitz::Shape;
using toeplitz::ToeplitzWork;

/// One 8x8 bit matrix per key byte.
using Matrices = std::vector<std::uint64_t>;

template <Shape kShape>
struct Kernel {
  const std::uint64_t* matrices;

  void operator()(Burst& b) noexcept {
    std::uint8_t* tuples[kMaxBurst];
    std::uint32_t hashes[kMaxBurst];
    for (std::uint32_t i = 0; i < b.n; ++i) {
      // The function only reads the tuples, although its parameter is not const.
      tuples[i] = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(b.in[i] + kShape.offset));
    }
    toeplitz::gfni_bulk(matrices, kShape.bytes, tuples, hashes, b.n);
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.result[i] = hashes[i];
    }
    accept_all(b);
  }
};

class GfniSession final : public Session {
 public:
  explicit GfniSession(const ToeplitzWork& work) : matrices_(work.key.size()) {
    rte_thash_complete_matrix(matrices_.data(), work.key.data(), static_cast<int>(work.key.size()));
    kernels_ =
        toeplitz::session_for(work.params, [matrices = matrices_.data()]<Shape kShape>() { return Kernel<kShape>{matrices}; },
                              {"avx512 gfni", "rte_thash_gfni_bulk", false});
  }

  std::unique_ptr<Lane> open() override { return kernels_->open(); }
  [[nodiscard]] PathInfo path() const override { return kernels_->path(); }
  [[nodiscard]] std::size_t memory_bytes() const override { return matrices_.size() * sizeof(Matrices::value_type); }

 private:
  Matrices matrices_;
  std::unique_ptr<Session> kernels_;
};

class Gfni final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"toeplitz", "dpdk-gfni", "rte_thash_gfni_bulk, two packets per AVX-512 register", rte_version()};
    return info;
  }
  [[nodiscard]] std::string unavailable() const override { return toeplitz::gfni_missing(); }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<GfniSession>(static_cast<const ToeplitzWork&>(work));
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Gfni>());
}
