// toeplitz, engine portable: one table look-up per byte of the tuple.

#include "operators/engine.hpp"
#include "operators/support/status.hpp"
#include "operators/toeplitz/toeplitz.hpp"

namespace dpubench {
namespace {

using toeplitz::Shape;
using toeplitz::ToeplitzWork;

constexpr std::size_t kLongestTuple = 36;

/// The contribution of each value of each tuple byte to the hash. The hash is linear over XOR, so the hash of a byte is the XOR
/// of the hashes of its bits.
using Tables = std::array<std::array<std::uint32_t, 256>, kLongestTuple>;

std::shared_ptr<const Tables> tables_of(std::span<const std::uint8_t> key) {
  auto tables = std::make_shared<Tables>();
  for (std::size_t at = 0; at < kLongestTuple; ++at) {
    std::uint64_t five_bytes = 0;  // the key bits that the eight windows of this byte reach
    for (std::size_t i = 0; i < 5; ++i) five_bytes = five_bytes << 8 | key[at + i];
    auto& table = (*tables)[at];
    for (unsigned bit = 0; bit < 8; ++bit) table[0x80U >> bit] = static_cast<std::uint32_t>(five_bytes >> (8 - bit));
    for (unsigned value = 1; value < 256; ++value) {
      const unsigned lowest = value & (~value + 1);
      table[value] = table[value ^ lowest] ^ table[lowest];
    }
  }
  return tables;
}

template <Shape kShape>
struct Kernel {
  const Tables* tables;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const std::byte* tuple = b.in[i] + kShape.offset;
      std::uint32_t hash = 0;
      for (std::size_t at = 0; at < kShape.bytes; ++at) hash ^= (*tables)[at][std::to_integer<std::size_t>(tuple[at])];
      b.result[i] = hash;
    }
    accept_all(b);
  }
};

class PortableSession final : public Session {
 public:
  explicit PortableSession(const ToeplitzWork& work)
      : tables_(tables_of(work.key)),
        bytes_(toeplitz::shape_of(work.params).bytes),
        kernels_(toeplitz::session_for(work.params, [tables = tables_.get()]<Shape kShape>() { return Kernel<kShape>{tables}; },
                                       {"generic", "a table of 256 words per tuple byte", false})) {}

  std::unique_ptr<Lane> open() override { return kernels_->open(); }
  [[nodiscard]] PathInfo path() const override { return kernels_->path(); }
  [[nodiscard]] std::size_t memory_bytes() const override { return bytes_ * sizeof(Tables::value_type); }

 private:
  std::shared_ptr<const Tables> tables_;
  std::size_t bytes_;
  std::unique_ptr<Session> kernels_;
};

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"toeplitz", "portable", "table look-ups, one per byte of the tuple", ""};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<PortableSession>(static_cast<const ToeplitzWork&>(work));
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Portable>());
}
