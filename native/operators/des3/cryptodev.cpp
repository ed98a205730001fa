// des3, engines cryptodev: DPDK's crypto devices.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API

#include "operators/support/dpdk/cryptodev.hpp"
#include "operators/des3/work.hpp"

namespace dpubench::des3 {
namespace {

using cryptodev::Kind;
using cryptodev::Transform;

class Cryptodev final : public cryptodev::DeviceEngine {
 public:
  explicit Cryptodev(cryptodev::Provider provider) : DeviceEngine("des3", std::move(provider)) {}

  [[nodiscard]] std::string unsupported(const Params& params) const override {
    return lacks(transform(params.is("direction", "encrypt"), std::vector<std::byte>(kKeyBytes)));
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const Des3Work&>(any);
    return std::make_unique<cryptodev::SymSession<Kind::kShortChain>>(provider(), work, transform(work.encrypt, work.key),
                                                                      work.encrypt, 0);
  }

 private:
  static Transform transform(bool encrypt, std::vector<std::byte> key) {
    return Transform::cipher(RTE_CRYPTO_CIPHER_3DES_CBC, encrypt, std::move(key), kBlockBytes);
  }
};

}  // namespace
}  // namespace dpubench::des3

DPUBENCH_ENGINES(sink) {
  using namespace dpubench::cryptodev;
  for (const Provider& provider : {named_device(), aesni_mb(), openssl()}) {
    sink.add(std::make_unique<dpubench::des3::Cryptodev>(provider));
  }
}
