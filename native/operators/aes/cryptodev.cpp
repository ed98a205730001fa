// aes, engines cryptodev: DPDK's crypto devices.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API

#include "operators/support/dpdk/cryptodev.hpp"
#include "operators/aes/work.hpp"

namespace dpubench::aes {
namespace {

using cryptodev::Kind;
using cryptodev::Transform;

Transform transform(std::string_view mode, bool encrypt, std::vector<std::byte> key, std::uint32_t aad_bytes) {
  constexpr std::uint16_t kIvBytes = kBlockBytes;
  if (mode == "cbc") return Transform::cipher(RTE_CRYPTO_CIPHER_AES_CBC, encrypt, std::move(key), kIvBytes);
  if (mode == "ctr") return Transform::cipher(RTE_CRYPTO_CIPHER_AES_CTR, encrypt, std::move(key), kIvBytes);
  if (mode == "xts") return Transform::cipher(RTE_CRYPTO_CIPHER_AES_XTS, encrypt, std::move(key), kIvBytes);
  return Transform::aead(RTE_CRYPTO_AEAD_AES_GCM, encrypt, std::move(key), kGcmIvBytes, static_cast<std::uint16_t>(aad_bytes),
                         kTagBytes);
}

class Cryptodev final : public cryptodev::DeviceEngine {
 public:
  /// @param modes  modes that a software driver supports
  Cryptodev(cryptodev::Provider provider, std::vector<std::string> modes)
      : DeviceEngine("aes", std::move(provider)), modes_(std::move(modes)) {}

  [[nodiscard]] std::string unsupported(const Params& params) const override {
    const std::string& mode = params.text("mode");
    const bool encrypt = params.is("direction", "encrypt");
    if (provider().is_software() && std::find(modes_.begin(), modes_.end(), mode) == modes_.end()) {
      return "the driver does not have AES in this mode";
    }
    const std::vector<std::byte> key(params.number("key_bits") / 8 * (mode == "xts" ? 2 : 1));
    if (std::string reason = lacks(transform(mode, encrypt, key, kBlockBytes)); !reason.empty()) return reason;
    if (mode == "cbc" || mode == "ctr") return {};  // long messages go in pieces
    return too_long(params.number("size"), RTE_CRYPTODEV_FF_OOP_SGL_IN_SGL_OUT, false);
  }

  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const AesWork&>(any);
    switch (work.mode) {
      case Mode::kCbc:
        return session<Kind::kChain>(work, "cbc");
      case Mode::kCtr:
        return session<Kind::kCounter>(work, "ctr");
      case Mode::kXts:
        return session<Kind::kWhole>(work, "xts");
      case Mode::kGcm:
        break;
    }
    return work.direction == Direction::kEncrypt ? session<Kind::kAeadEncrypt>(work, "gcm")
                                                 : session<Kind::kAeadDecrypt>(work, "gcm");
  }

 private:
  template <Kind K>
  [[nodiscard]] std::unique_ptr<Session> session(const AesWork& work, std::string_view mode) const {
    const bool encrypt = work.direction == Direction::kEncrypt;
    return std::make_unique<cryptodev::SymSession<K>>(provider(), work, transform(mode, encrypt, work.key, work.aad_bytes),
                                                      encrypt, 0);
  }

  std::vector<std::string> modes_;
};

}  // namespace
}  // namespace dpubench::aes

DPUBENCH_ENGINES(sink) {
  using namespace dpubench::cryptodev;
  using dpubench::aes::Cryptodev;
  using Modes = std::vector<std::string>;
  sink.add(std::make_unique<Cryptodev>(named_device(), Modes{}));
  sink.add(std::make_unique<Cryptodev>(aesni_mb(), Modes{"cbc", "ctr", "gcm"}));
  sink.add(std::make_unique<Cryptodev>(aesni_gcm(), Modes{"gcm"}));
  sink.add(std::make_unique<Cryptodev>(openssl(), Modes{"cbc", "ctr", "gcm"}));
}
